package duckdbtest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// archivedLog publishes the test events into a server of the test's own, has the
// runner archive them in several commits, and returns the log and the folder.
func archivedLog(tb testing.TB) (log []schema.Entry, dir string) {
	tb.Helper()
	l := pipelinetest.Log(tb, pipelinetest.Server(tb, tb.TempDir()).URL())
	total := 0
	for v := 1; v <= 3; v++ {
		var batch []*message.Message
		for n := range orders {
			if v <= 1+n%3 {
				batch = append(batch, unconditional(tb, testEvent(tb, n, v)))
			}
		}
		if err := l.Publisher().Publish(pipeline.Topic, batch...); err != nil {
			tb.Fatal(err)
		}
		total += len(batch)
	}
	log, dir = readLog(tb, l, total), tb.TempDir()
	runArchive(tb, l, dir, log[total-1].Sequence)
	return log, dir
}

// unconditional makes a message that goes into the log whatever its order's last
// event is.
func unconditional(tb testing.TB, e schema.Event) *message.Message {
	tb.Helper()
	m, err := pipeline.NewMessage(&e, 0, 0)
	if err != nil {
		tb.Fatal(err)
	}
	delete(m.Metadata, pipeline.MetaExpected)
	return m
}

// readLog takes the n entries of a log.
func readLog(tb testing.TB, l *jetstream.Log, n int) []schema.Entry {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	messages, err := l.Follow(ctx, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var log []schema.Entry
	for m := range messages {
		e, err := pipeline.ReadEntry(m)
		m.Ack()
		if err != nil {
			tb.Fatal(err)
		}
		if log = append(log, e); len(log) == n {
			return log
		}
	}
	tb.Fatalf("the log ended after %d of %d entries", len(log), n)
	return nil
}

// runArchive feeds the sink in the way of the program, up to a sequence.
func runArchive(tb testing.TB, l *jetstream.Log, dir string, upTo uint64) {
	tb.Helper()
	logger := slog.New(slog.NewTextHandler(tb.Output(), nil))
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir, RollBytes: 64 << 10, Logger: logger})
	if err != nil {
		tb.Fatal(err)
	}
	r := pipeline.NewRunner(pipeline.RunnerConfig{
		Name: "archive", Sink: a, Follow: l.Follow, Bury: l.Bury, MaxBatch: 50, FlushEvery: time.Minute, Logger: logger,
	})
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.Drain(ctx, upTo); err != nil {
		tb.Fatal(err)
	}
	if err := <-ended; err != nil {
		tb.Fatal(err)
	}
	if s := a.Stats(); s.Commits < 3 {
		tb.Fatalf("%d commits; the set is to have several", s.Commits)
	}
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
}
