package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// posting delivers to a receiver on this machine.
type posting struct {
	client *http.Client
	url    string
}

func (p posting) Deliver(ctx context.Context, e *schema.Entry) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(e.Raw))
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d, %w", resp.StatusCode, err)
	}
	return nil
}

func newPosting(b *testing.B) posting {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(server.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	b.Cleanup(transport.CloseIdleConnections)
	return posting{&http.Client{Transport: transport}, server.URL}
}

// BenchmarkAttempts is what recording costs: rounds of deliveries by HTTP to a
// receiver on this machine, and of deliveries that take no time at all, without and
// with recording in turns, so that both meet the same disturbances. The figures are
// those of the round in the middle. The log is that of an embedded server, on the
// same processors.
func BenchmarkAttempts(b *testing.B) {
	for name, round := range map[string]int{"http": 2_000, "instant": 10_000} {
		b.Run("receiver="+name, func(b *testing.B) {
			payloads, cfg := eventsFor(b, 1), pipeline.CourierConfig{Deliverer: instant{}}
			if name == "http" {
				cfg.Deliverer = newPosting(b)
			}
			w := pipelinetest.Log(b, pipelinetest.Server(b, b.TempDir()).URL()).Attempts(jetstream.AttemptsConfig{})
			took := make(map[bool][]time.Duration)
			for b.Loop() {
				for _, recorded := range []bool{false, true} {
					if cfg.Attempted = nil; recorded {
						cfg.Attempted = w.Record
					}
					begun := time.Now()
					deliverAll(b, payloads, round, cfg)
					took[recorded] = append(took[recorded], time.Since(begun))
				}
			}
			w.Close(b.Context())
			without, with := middle(took[false]), middle(took[true])
			b.ReportMetric(float64(round)/without.Seconds(), "without/s")
			b.ReportMetric(float64(round)/with.Seconds(), "with/s")
			b.ReportMetric(100*(with.Seconds()/without.Seconds()-1), "%slower")
			b.ReportMetric(float64(w.Dropped())/float64(len(took[true])*round), "dropped/op")
		})
	}
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
