package archive

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// benchFile writes a file of n events and returns its path.
func benchFile(b *testing.B, n int) string {
	b.Helper()
	r, held := rand.New(rand.NewPCG(1, 2)), newBuffer()
	for i := range n {
		e := schema.Entry{Sequence: uint64(i + 1), Stored: epoch.Add(time.Duration(i) * time.Millisecond), Event: benchEvent(r, i)}
		held.add(&e)
	}
	held.sortParts()
	x, err := newEncoder(DefaultZstdLevel)
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	if err := x.encode(b.Context(), &out, held, held.parts[0].rows); err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "account=main", "event_date=2026-11-01", "x.parquet")
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return name
}

// BenchmarkMerge merges many small files and few large ones into one, which is
// not kept: ns/op is the time of one row. peakMiB is the heap beyond what was there.
func BenchmarkMerge(b *testing.B) {
	for _, size := range []struct{ files, rows int }{{300, 6000}, {40, 200000}} {
		b.Run(fmt.Sprintf("files=%d/rows=%d", size.files, size.rows), func(b *testing.B) {
			name := benchFile(b, size.rows)
			var sources []iter.Seq2[Row, error]
			for i := range size.files { // the same events under other sequences
				sources = append(sources, func(yield func(Row, error) bool) {
					for row, err := range ReadFile(b.Context(), name) {
						row.Sequence = row.Sequence*int64(size.files) + int64(i)
						if !yield(row, err) {
							return
						}
					}
				})
			}
			w, err := newFileWriter(DefaultZstdLevel)
			if err != nil {
				b.Fatal(err)
			}
			before, peak := heapBytes(), uint64(0)
			rows := 0
			b.ReportAllocs()
			for b.Loop() {
				if err := w.begin(io.Discard, 0, math.MaxUint64); err != nil {
					b.Fatal(err)
				}
				for row, err := range (&merger{dir: b.TempDir()}).rows(b.Context(), sources) {
					if err == nil {
						err = w.add(b.Context(), &row)
					}
					if err != nil {
						b.Fatal(err)
					}
					if rows++; rows%20000 == 0 {
						peak = max(peak, heapBytes())
					}
				}
				if _, err := w.end(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(peak-before)/(1<<20), "peakMiB")
		})
	}
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
