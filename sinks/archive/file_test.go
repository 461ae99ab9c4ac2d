package archive

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/schema"
)

// busyLog is a log of n events like those of the benchmark, in no order.
func busyLog(n int) []schema.Entry {
	r := rand.New(rand.NewPCG(3, 4))
	log := make([]schema.Entry, n)
	for i, order := range r.Perm(n) {
		log[i] = schema.Entry{Sequence: uint64(i + 1), Stored: epoch.Add(time.Duration(i) * time.Millisecond), Event: benchEvent(r, order)}
	}
	return log
}

// openFile opens the only file of an archive.
func openFile(t *testing.T, dir string) *parquet.File {
	t.Helper()
	names := visible(t, dir)
	if len(names) != 1 {
		t.Fatalf("files %v", names)
	}
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(names[0])))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFile looks at a file of two pages.
func TestFile(t *testing.T) {
	t.Parallel()
	log := busyLog(9000)
	for i := range log {
		log[i].Event.Data.Order.ProgramID = schema.NewText("1")
	}
	f := openFile(t, archived(t, log))
	found, _ := f.Schema().Lookup("order_sn")
	orders := f.RowGroups()[0].ColumnChunks()[found.ColumnIndex]

	t.Run("metadata", func(t *testing.T) {
		for key, want := range map[string]string{metaSchema: "1", metaWriter: "1", metaFirst: "1", metaLast: "9000"} {
			if got, _ := f.Lookup(key); got != want {
				t.Errorf("%s is %q, not %q", key, got, want)
			}
		}
		if got := f.Metadata().CreatedBy; got != "orderwire version 1" {
			t.Errorf("created by %q", got)
		}
	})
	t.Run("encodings", func(t *testing.T) {
		for name, want := range map[string]string{
			"sequence": "DELTA_BINARY_PACKED", "order_sn": "DELTA_BYTE_ARRAY", "event_id": "DELTA_LENGTH_BYTE_ARRAY",
			"program_id": "RLE_DICTIONARY", "regression": "PLAIN", "status": "DELTA_BINARY_PACKED",
		} {
			found, _ := f.Schema().Lookup(name)
			meta := f.Metadata().RowGroups[0].Columns[found.ColumnIndex].MetaData
			if meta.Encoding[0].String() != want || meta.Codec.String() != "ZSTD" {
				t.Errorf("%s is written as %v, %v", name, meta.Encoding, meta.Codec)
			}
		}
	})
	t.Run("bloom filter", func(t *testing.T) {
		passed := 0
		for i := range log {
			if ok, err := orders.BloomFilter().Check(parquet.ValueOf(log[i].Event.Data.Order.OrderSn.String())); err != nil || !ok {
				t.Fatalf("an order is not in the filter: %v", err)
			}
			if ok, err := orders.BloomFilter().Check(parquet.ValueOf(fmt.Sprintf("none-%d", i))); err != nil || ok {
				passed++
			}
		}
		if passed > len(log)/50 {
			t.Errorf("%d of %d foreign orders pass", passed, len(log))
		}
	})
	t.Run("page index", func(t *testing.T) {
		index, err := orders.ColumnIndex()
		if err != nil || index.NumPages() != 2 || !index.IsAscending() {
			t.Fatalf("index %v, %v", index, err)
		}
		for _, e := range log[:100] {
			order, pages := parquet.ValueOf(e.Event.Data.Order.OrderSn.String()), 0
			for p := range index.NumPages() {
				if orders.Type().Compare(index.MinValue(p), order) <= 0 && orders.Type().Compare(index.MaxValue(p), order) >= 0 {
					pages++
				}
			}
			if pages != 1 {
				t.Errorf("%d pages may hold an order", pages)
			}
		}
	})
}

func TestRowsAreSorted(t *testing.T) {
	t.Parallel()
	log := busyLog(700)
	for i := range log {
		if order := &log[i].Event.Data.Order; i%50 == 0 {
			order.ProgramID = schema.Text{}
		} else if i%7 == 0 {
			order.OrderSn = log[i-1].Event.Data.Order.OrderSn
			order.ProgramID = log[i-1].Event.Data.Order.ProgramID
		}
	}
	dir := archived(t, log)
	key := func(r Row) string { // null is behind all texts
		program := "~"
		if r.ProgramID != nil {
			program = *r.ProgramID
		}
		return fmt.Sprintf("%s %s %03d %09d", program, r.OrderSn, r.Version, r.Sequence)
	}
	if all := rows(t, dir); !slices.IsSortedFunc(all, func(a, b Row) int { return cmp.Compare(key(a), key(b)) }) || len(all) != len(log) {
		t.Errorf("%d rows, not in order", len(all))
	}
	f := openFile(t, dir)
	var names []string
	for _, c := range f.Metadata().RowGroups[0].SortingColumns {
		names = append(names, f.Schema().Columns()[c.ColumnIdx][0])
	}
	if !slices.Equal(names, sortedBy) {
		t.Errorf("the file says that it is sorted by %v", names)
	}
}

// The bytes depend on the events and the cuts alone: not on how they came, nor
// on what the archiver wrote before.
func TestSameEventsSameBytes(t *testing.T) {
	t.Parallel()
	log := busyLog(3000)
	flush := []uint64{1000, 2000}
	var want map[string]string
	for i, batch := range []int{1000, 250, 8} {
		dir := t.TempDir()
		if err := runUntil(t.Context(), Config{Dir: dir}, log, batch, flush, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = tree(t, dir)
			continue
		}
		sameTree(t, want, tree(t, dir))
	}
	dir := t.TempDir() // a new process for each commit
	for _, end := range []int{1000, 2000, 3000} {
		if err := runUntil(t.Context(), Config{Dir: dir}, log[:end], 500, flush, nil); err != nil {
			t.Fatal(err)
		}
	}
	sameTree(t, want, tree(t, dir))
}

// Every column of Row has a way from the event, and the other way round.
func TestEveryColumnIsFilled(t *testing.T) {
	t.Parallel()
	b := newBuffer()
	for i, path := range fileSchema.Columns() {
		if b.leaves[i].column == nil || b.leaves[i].index != i {
			t.Errorf("nothing fills %v", path)
		}
	}
	if n := len(eventFields) + len(orderFields) + len(lineFields) + len(changeFields) + len(lastFields); n != len(b.leaves) {
		t.Errorf("%d fields fill %d columns", n, len(b.leaves))
	}
}
