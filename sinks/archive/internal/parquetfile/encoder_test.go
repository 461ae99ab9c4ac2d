package parquetfile

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func TestRecordsComeBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	same := make([]record, 100)
	for i := range same {
		same[i] = record{Name: "same", Word: new("one"), Free: new(""), Small: new(int32(7))}
	}
	tests := map[string][][]record{
		"none":                 {},
		"one":                  {randomRecords(r, 1)},
		"nulls":                {make([]record, 10)},
		"nulls, several pages": {make([]record, 2*PageRows+1)},
		"equal":                {same},
		"a page":               {randomRecords(r, PageRows)},
		"a page and one":       {randomRecords(r, PageRows+1)},
		"several groups":       {randomRecords(r, 3*PageRows-1), randomRecords(r, 10), randomRecords(r, PageRows)},
		"a void page":          {append(randomRecords(r, PageRows), make([]record, 5)...)},
	}
	e := newEncoder(t)
	for name, groups := range tests {
		t.Run(name, func(t *testing.T) {
			b := encode(t, e, groups...)
			f, got := decode(t, b)
			if want := slices.Concat(groups...); !reflect.DeepEqual(got, append([]record{}, want...)) {
				t.Errorf("%d records came back otherwise", len(want))
			}
			if again := encode(t, newEncoder(t), groups...); !bytes.Equal(b, again) {
				t.Error("a new encoder writes other bytes")
			}
			checkIndexes(t, f)
		})
	}
}

// checkIndexes compares the bounds and the filters of a file with its values.
func checkIndexes(t *testing.T, f *parquet.File) {
	t.Helper()
	for g, group := range f.RowGroups() {
		for i, chunk := range group.ColumnChunks() {
			meta := f.Metadata().RowGroups[g].Columns[i].MetaData
			index, err := chunk.ColumnIndex()
			if err != nil {
				t.Fatalf("%v has no column index: %v", meta.PathInSchema, err)
			}
			all := 0
			for p, values := range pages(t, chunk) {
				nulls := slices.DeleteFunc(slices.Clone(values), func(v parquet.Value) bool { return !v.IsNull() })
				values = slices.DeleteFunc(values, func(v parquet.Value) bool { return v.IsNull() })
				all += len(values) + len(nulls)
				if index.NullPage(p) != (len(values) == 0) || index.NullCount(p) != int64(len(nulls)) {
					t.Errorf("%v page %d: null page %v, %d nulls", meta.PathInSchema, p, index.NullPage(p), index.NullCount(p))
				}
				if len(values) == 0 {
					continue
				}
				compare := chunk.Type().Compare
				low, high := slices.MinFunc(values, compare), slices.MaxFunc(values, compare)
				if compare(index.MinValue(p), low) != 0 || compare(index.MaxValue(p), high) != 0 {
					t.Errorf("%v page %d: bounds %v and %v, not %v and %v", meta.PathInSchema, p, index.MinValue(p), index.MaxValue(p), low, high)
				}
				if compare(chunk.Type().Kind().Value(meta.Statistics.MinValue), low) > 0 || compare(chunk.Type().Kind().Value(meta.Statistics.MaxValue), high) < 0 {
					t.Errorf("%v: page %d is beyond the bounds of the chunk", meta.PathInSchema, p)
				}
				if filter := chunk.BloomFilter(); filter != nil {
					for _, v := range values[:min(len(values), 100)] {
						if ok, err := filter.Check(v); !ok || err != nil {
							t.Errorf("%v: a value is not in the filter: %v", meta.PathInSchema, err)
						}
					}
				}
			}
			if int64(all) != meta.NumValues || meta.NumValues != chunk.NumValues() {
				t.Errorf("%v: %d values, not %d", meta.PathInSchema, meta.NumValues, all)
			}
		}
	}
}

// pages reads the values of a column chunk page by page.
func pages(t *testing.T, chunk parquet.ColumnChunk) [][]parquet.Value {
	t.Helper()
	var all [][]parquet.Value
	reader := chunk.Pages()
	defer func() { _ = reader.Close() }()
	for {
		page, err := reader.ReadPage()
		if err != nil {
			return all
		}
		values := make([]parquet.Value, page.NumValues())
		n, _ := page.Values().ReadValues(values)
		for i := range values[:n] {
			values[i] = values[i].Clone()
		}
		all = append(all, values[:n])
		parquet.Release(page)
	}
}

// A text too long for a bound leaves its column chunk without bounds.
func TestLongTextsHaveNoBounds(t *testing.T) {
	t.Parallel()
	records := []record{{Name: "short"}, {Name: strings.Repeat("long", 100)}}
	f, got := decode(t, encode(t, newEncoder(t), records))
	if !reflect.DeepEqual(got, records) {
		t.Error("records came back otherwise")
	}
	meta := f.Metadata().RowGroups[0].Columns[4]
	if meta.MetaData.Statistics.MaxValue != nil || meta.ColumnIndexOffset != 0 || meta.OffsetIndexOffset == 0 {
		t.Errorf("statistics %v, index at %d", meta.MetaData.Statistics, meta.ColumnIndexOffset)
	}
	if meta := f.Metadata().RowGroups[0].Columns[0]; meta.ColumnIndexOffset == 0 {
		t.Error("the other columns have lost their index")
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	f, _ := decode(t, encode(t, newEncoder(t), make([]record, 1)))
	meta := f.Metadata()
	want := []format.KeyValue{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}} // parquet-go sorts them
	if meta.CreatedBy != "test version 1" || !slices.Equal(meta.KeyValueMetadata, want) {
		t.Errorf("created by %q, metadata %v", meta.CreatedBy, meta.KeyValueMetadata)
	}
	if sorting := meta.RowGroups[0].SortingColumns; len(sorting) != 1 || sorting[0] != (format.SortingColumn{ColumnIdx: 4}) {
		t.Errorf("sorted by %v", sorting)
	}
	if !parquet.EqualNodes(f.Schema(), recordSchema) {
		t.Errorf("the schema is %v", f.Schema())
	}
}

// failing is a disk that is full after some bytes.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), int(*f))
	*f -= failing(n)
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

func TestErrorsOfTheOutput(t *testing.T) {
	t.Parallel()
	e := newEncoder(t)
	records := randomRecords(rand.New(rand.NewPCG(7, 8)), 20)
	c := columns(records)
	write := func(out io.Writer) error {
		return cmp.Or(e.Begin(out), e.RowGroup(len(records), func(leaf int) *Column { return c[leaf] }), e.End())
	}
	var good bytes.Buffer
	if err := write(&good); err != nil {
		t.Fatal(err)
	}
	whole := good.Len()
	for size := 0; size < whole; size += 7 {
		out := failing(size)
		if err := write(&out); !errors.Is(err, errFull) {
			t.Fatalf("after %d of %d bytes: %v", size, whole, err)
		}
	}
	var again bytes.Buffer
	if err := write(&again); err != nil || !bytes.Equal(again.Bytes(), good.Bytes()) {
		t.Errorf("a failed file has left something behind: %v", err)
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Schema: recordSchema, Level: 1, SortedBy: []string{"none"}}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("error %v", err)
	}
	if err := newEncoder(t).End(); err == nil {
		t.Error("End without Begin")
	}
}
