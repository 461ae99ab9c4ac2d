package archive

import (
	"math/rand/v2"
	"os"
	"path"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// BenchmarkCompact merges 500,000 events in 100 files into one: ns/op is the time
// of all of it. peakMiB is the heap beyond what was there. The archive is made once
// and planted anew by linking.
func BenchmarkCompact(b *testing.B) {
	const events, files = 500_000, 100
	dir := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	a := open(b, Config{Dir: dir, RollBytes: 1 << 30, RollEvery: 24 * time.Hour})
	for i := range events {
		e := schema.Entry{Sequence: uint64(i + 1), Stored: epoch, Event: benchEvent(r, i)}
		noError(b, a.Write(b.Context(), []schema.Entry{e}))
		if (i+1)%(events/files) == 0 {
			noError(b, a.Flush(b.Context()))
		}
	}
	noError(b, a.Close())
	before, peak, ended := heapBytes(), uint64(0), int64(0)
	for b.Loop() {
		b.StopTimer()
		to := linked(b, dir)
		b.StartTimer()
		done, err := Compact(b.Context(), CompactConfig{Dir: to, Now: later, Progress: func(int64, int64) {
			peak = max(peak, heapBytes())
		}})
		noError(b, err)
		if done.FilesBefore != files || done.FilesAfter != 1 {
			b.Fatalf("done %+v", done)
		}
		ended += done.Events
		b.ReportMetric(float64(done.BytesAfter)/float64(done.BytesBefore), "size-ratio")
	}
	b.ReportMetric(float64(ended)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(peak-min(peak, before))/(1<<20), "peakMiB")
}

// linked returns a copy of an archive that shares its files.
func linked(b *testing.B, dir string) string {
	b.Helper()
	from, to := &folder{root: dir}, &folder{root: b.TempDir()}
	own, err := from.list(b.Context(), ownDir)
	noError(b, err)
	names, err := from.list(b.Context(), ".")
	noError(b, err)
	for _, name := range append(own, names...) {
		if name == lockName {
			continue
		}
		noError(b, to.makeDir(path.Dir(name)))
		noError(b, os.Link(from.path(name), to.path(name)))
	}
	return to.root
}
