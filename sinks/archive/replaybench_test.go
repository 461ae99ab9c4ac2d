package archive

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// BenchmarkEvents reads 500,000 events back in the order of the log: from one
// file, as after a compaction, and from 500. ns/op is the time of one reading.
func BenchmarkEvents(b *testing.B) {
	const events = 500_000
	for _, files := range []int{1, 500} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			dir := b.TempDir()
			fillForReplay(b, dir, events, files)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				n := uint64(0)
				for e, err := range Events(b.Context(), EventsConfig{Dir: dir}) {
					if n++; err != nil || e.Sequence != n {
						b.Fatal(n, e.Sequence, err)
					}
				}
				if n != events {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func fillForReplay(b *testing.B, dir string, events, files int) {
	b.Helper()
	a, err := Open(b.Context(), Config{Dir: dir, RollBytes: 1 << 30, RollEvery: 1000 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	r := rand.New(rand.NewPCG(1, 2))
	batch := make([]schema.Entry, 1000)
	for n := 0; n < events; n += len(batch) {
		for i := range batch {
			e := &batch[i]
			e.Event = benchEvent(r, r.IntN(1e9))
			e.Sequence, e.Stored = uint64(n+i+1), epoch.Add(time.Duration(n+i)*time.Millisecond)
		}
		if err := a.Write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		if (n/len(batch)+1)%max(events/len(batch)/files, 1) == 0 {
			if err := a.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
