package archive

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// BenchmarkSnapshot takes the last states of 100,000 orders out of 500,000 events in
// 20 commits. peakMiB is the heap beyond what was there.
func BenchmarkSnapshot(b *testing.B) {
	const events, orders, commits = 500_000, 100_000, 20
	dir := b.TempDir()
	a, err := Open(b.Context(), Config{Dir: dir, RollEvery: 24 * time.Hour, RollBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for c := range commits {
		batch := make([]schema.Entry, events/commits)
		for i := range batch {
			n := c*len(batch) + i
			e := benchEvent(r, r.IntN(orders))
			e.Data.Version = uint64(n/orders + 1)
			batch[i] = schema.Entry{Sequence: uint64(n + 1), Stored: epoch.Add(time.Duration(n) * time.Millisecond), Event: e}
		}
		write(b, a, batch)
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	before, peak := heapBytes(), uint64(0)
	into, n := b.TempDir(), 0
	for b.Loop() {
		n++
		cfg := SnapshotConfig{Dir: dir, To: filepath.Join(into, strconv.Itoa(n)), Progress: func(int64, int64) { peak = max(peak, heapBytes()) }}
		report, err := Snapshot(b.Context(), cfg)
		if err != nil || report.Events != events {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(n)*events/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(peak-before)/(1<<20), "peakMiB")
}
