package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/sinks/archive"
)

// BenchmarkCatchUp brings an archive on the disk up to a log of 2,000,000 events
// of 1.1 KB, as after a first poll or a long pause; the server shares the machine.
//
//	consume    the limit: nats.go's ordered consumer calls a function with each message
//	runner     runner and sink in this process, the server in its own; for -cpuprofile
//	program    orderwire run --only archive --once, the server in a process of its own
//	embedded   the same with the embedded server, from the start of the process to its end
//
// peak-MiB is the most memory that the archiver's process has had resident, ×consume
// the share of the consume rate of the same run. cpu-µs/event is what all processes
// take together, start and end of the server included: 20 of them make 100,000
// events/s on two cores. [eventsVariable] makes the log shorter.
func BenchmarkCatchUp(b *testing.B) {
	l := newBigLog(b)
	var limit float64 // events/s of consume, 0 when it was left out
	for _, c := range []struct {
		name    string
		archive func(b *testing.B, dir string)
	}{
		{"consume", func(b *testing.B, _ string) { l.serve(b, func(url string) { l.consume(b, url) }) }},
		{"runner", func(b *testing.B, dir string) { l.serve(b, func(url string) { l.follow(b, url, dir) }) }},
		{"program", func(b *testing.B, dir string) {
			l.serve(b, func(url string) { run(b, dir, fmt.Sprintf("data_dir: %q\nnats: {url: %q}\n", dir, url)) })
		}},
		{"embedded", func(b *testing.B, dir string) {
			b.StartTimer()
			defer b.StopTimer()
			run(b, dir, fmt.Sprintf("data_dir: %q\n", l.dir))
		}},
	} {
		b.Run(fmt.Sprintf("events=%d/%s", l.events, c.name), func(b *testing.B) {
			var dir string
			before := allTime(b)
			for b.Loop() {
				b.StopTimer() // each pass times itself
				dir = b.TempDir()
				c.archive(b, dir)
				b.StartTimer()
			}
			events := float64(l.events) * float64(b.N)
			rate := events / b.Elapsed().Seconds()
			b.ReportMetric(rate, "events/s")
			b.ReportMetric(float64((allTime(b)-before).Microseconds())/events, "cpu-µs/event")
			if c.name == "consume" {
				limit = rate
				return
			}
			if limit > 0 {
				b.ReportMetric(rate/limit, "×consume")
			}
			l.report(b, dir)
		})
	}
}

// serve runs the log's server in a process of its own beside work, which is timed.
func (l *bigLog) serve(b *testing.B, work func(url string)) {
	b.Helper()
	url, stop := startServer(b, l.dir)
	defer stop()
	b.StartTimer()
	defer b.StopTimer()
	work(url)
}

// consume reads the log without doing anything with it.
func (l *bigLog) consume(b *testing.B, url string) {
	b.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	cons, err := js.OrderedConsumer(b.Context(), jetstream.StreamName, natsjs.OrderedConsumerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	done, got := make(chan struct{}), 0
	cc, err := cons.Consume(func(natsjs.Msg) {
		if got++; got == l.events {
			close(done)
		}
	}, natsjs.PullMaxMessages(2048)) // as many as Follow asks for
	if err != nil {
		b.Fatal(err)
	}
	<-done
	cc.Stop()
}

// follow runs the sink as the program does, in this process.
func (l *bigLog) follow(b *testing.B, url, dir string) {
	b.Helper()
	log := pipelinetest.Log(b, url)
	a, err := archive.Open(b.Context(), archive.Config{Dir: filepath.Join(dir, "archive")})
	if err != nil {
		b.Fatal(err)
	}
	r := pipeline.NewRunner(pipeline.RunnerConfig{
		Name: "archive", Sink: a, Follow: log.Follow, Bury: log.Bury, FlushEvery: archive.DefaultRollEvery,
	})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := errors.Join(r.Drain(b.Context(), uint64(l.events)), <-ended, a.Close(), log.Close()); err != nil {
		b.Fatal(err)
	}
}

// run runs the program with the defaults of the archive.
func run(b *testing.B, dir, yaml string) {
	b.Helper()
	config := filepath.Join(dir, "orderwire.yaml")
	yaml += fmt.Sprintf("archive: {url: %q}\n", filepath.Join(dir, "archive")) +
		"accounts: [{name: main, base_url: 'http://127.0.0.1:1', app_key: '1', app_secret: none}]\n"
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "-c", config, "--only", "archive", "--once")
	cmd.Stderr = b.Output()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	watch := time.NewTicker(20 * time.Millisecond)
	defer watch.Stop()
	var peak float64
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatal(err)
			}
			if peak > 0 {
				b.ReportMetric(peak, "peak-MiB")
			}
			return
		case <-watch.C:
			peak = max(peak, peakMiB(cmd.Process.Pid))
		}
	}
}

// peakMiB is the most memory that a process has had resident so far, 0 where
// the system does not tell it. What getrusage calls so would count the memory of
// the process that started it.
func peakMiB(pid int) float64 { return memoryMiB(pid, "VmHWM:") }

// residentMiB is what it has resident now, likewise.
func residentMiB(pid int) float64 { return memoryMiB(pid, "VmRSS:") }

func memoryMiB(pid int, figure string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte(figure))
	var kib float64
	_, _ = fmt.Sscanf(string(rest), "%f kB", &kib)
	return kib / 1024
}

// processorTime is what a process has used of the processors, in steps of 10 ms; 0
// when that cannot be told.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // behind the name come state, ppid, …
	fields := bytes.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond
}

// report holds the archive to the log and tells its size.
func (l *bigLog) report(b *testing.B, dir string) {
	b.Helper()
	commits, err := archive.ReadManifest(b.Context(), filepath.Join(dir, "archive"))
	if err != nil {
		b.Fatal(err)
	}
	totals := commits[len(commits)-1].Totals
	if totals.Rows != int64(l.events) {
		b.Fatalf("%d events in the archive", totals.Rows)
	}
	var files int
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			files++
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(totals.Bytes)/float64(totals.Rows), "B/event")
	b.ReportMetric(float64(files), "files")
	b.ReportMetric(float64(len(commits)), "commits")
}
