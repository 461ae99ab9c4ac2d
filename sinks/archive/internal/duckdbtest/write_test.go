package duckdbtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// stored is the broker time of all events that writeAll writes.
var stored = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// writeEvents archives the first versions of n test orders as one commit.
func writeEvents(tb testing.TB, dir string, n int) {
	tb.Helper()
	writeAll(tb, dir, n, func(i int) schema.Event { return testEvent(tb, i, 1) })
}

// writeAll archives n events as one commit, one file for each account and date.
// Event i has sequence i+1.
func writeAll(tb testing.TB, dir string, n int, event func(i int) schema.Event) {
	tb.Helper()
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir, RollBytes: 1 << 30})
	if err != nil {
		tb.Fatal(err)
	}
	const batch = 4096
	entries := make([]schema.Entry, 0, batch)
	for i := range n {
		entries = append(entries, schema.Entry{Sequence: uint64(i + 1), Stored: stored, Event: event(i)})
		if len(entries) < batch && i+1 < n {
			continue
		}
		if err := a.Write(tb.Context(), entries); err != nil {
			tb.Fatal(err)
		}
		entries = entries[:0]
	}
	if err := a.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if s := a.Stats(); s.Commits != 1 || s.Rows != int64(n) {
		tb.Fatal(fmt.Errorf("%+v, want one commit of %d events", s, n))
	}
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
}
