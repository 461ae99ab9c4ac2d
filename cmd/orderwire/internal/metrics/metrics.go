// Package metrics shows how a process's part of the line is, for Prometheus.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// lookLimit bounds asking the log, well below the ten seconds that Prometheus
// waits for an answer.
const lookLimit = 5 * time.Second

// Source gives the picture that the metrics show.
type Source interface {
	// Status asks the log for its end and everything else for its progress.
	Status(ctx context.Context) (line.Status, error)
}

// Handler answers in the format that the request asks for. When the log does not
// answer, orderwire_log_up is 0 and what hangs on the log is left out: the answer
// is not cut off, and nothing in it is out of date.
func Handler(src Source, log *slog.Logger) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), lookLimit)
		defer cancel()
		status, err := src.Status(ctx)
		if err != nil {
			log.Warn("metrics are incomplete, the log does not answer", "error", err)
		}
		now := prometheus.NewRegistry()
		now.MustRegister(&picture{Status: status, known: err == nil})
		options := promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), EnableOpenMetrics: true}
		promhttp.HandlerFor(prometheus.Gatherers{own, now}, options).ServeHTTP(w, r)
	})
}

// build tells which program this is.
type build struct{}

var buildInfo = desc("build_info", "The program that answers; always 1.", "version", "revision", "goversion")

// Describe implements [prometheus.Collector].
func (build) Describe(ch chan<- *prometheus.Desc) { ch <- buildInfo }

// Collect implements [prometheus.Collector].
func (build) Collect(ch chan<- prometheus.Metric) {
	version, revision := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	ch <- prometheus.MustNewConstMetric(buildInfo, prometheus.GaugeValue, 1, version, revision, runtime.Version())
}

// desc describes a metric of ours.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("orderwire", "", name), help, labels, nil)
}
