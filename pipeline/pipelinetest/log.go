// Package pipelinetest holds servers for tests, in the process and in containers, and
// the faults that they are put through. The binary never imports it.
package pipelinetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// Server starts an embedded server on a directory of the test's own and stops
// it at the end.
func Server(tb testing.TB, dir string) *jetstream.Embedded {
	tb.Helper()
	e, err := jetstream.StartEmbedded(tb.Context(), jetstream.EmbeddedConfig{Dir: dir, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil))})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

// Log opens the order log of a server and closes it at the end of the test.
func Log(tb testing.TB, url string) *jetstream.Log {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	l, err := jetstream.Open(ctx, jetstream.Config{URL: url})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}
