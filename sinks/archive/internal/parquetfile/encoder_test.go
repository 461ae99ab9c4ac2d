package parquetfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// record has a column of every sort.
type record struct {
	Number int64   `parquet:"number"`
	Small  *int32  `parquet:"small"`
	Flag   bool    `parquet:"flag"`
	Word   *string `parquet:"word,dict"`
	Name   string  `parquet:"name,delta"`
	Free   *string `parquet:"free"`
	List   []item  `parquet:"list,optional,list"`
}

type item struct {
	Label *string `parquet:"label,dict"`
	Count *int64  `parquet:"count"`
}

var recordSchema = parquet.SchemaOf(record{})

func newEncoder(tb testing.TB) *Encoder {
	tb.Helper()
	e, err := New(Options{
		Schema: recordSchema, CreatedBy: "test version 1", Level: 1, SortedBy: []string{"name"}, Bloom: []string{"name", "word"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// columns takes records apart.
func columns(records []record) []*Column {
	c := make([]*Column, 9)
	for i := range c {
		c[i] = new(Column)
	}
	starts, inList := []int{}, []int{}
	for i, r := range records {
		if i%PageRows == 0 {
			starts, inList = append(starts, i), append(inList, len(c[6].Definition))
		}
		c[0].Numbers = append(c[0].Numbers, r.Number)
		optional(c[1], r.Small != nil, 1, func() { c[1].Numbers = append(c[1].Numbers, int64(*r.Small)) })
		c[2].Numbers = append(c[2].Numbers, map[bool]int64{true: 1}[r.Flag])
		optional(c[3], r.Word != nil, 1, func() { c[3].Texts.AppendString(*r.Word) })
		c[4].Texts.AppendString(r.Name)
		optional(c[5], r.Free != nil, 1, func() { c[5].Texts.AppendString(*r.Free) })
		for _, l := range []*Column{c[6], c[7]} {
			if len(r.List) == 0 {
				l.Repetition = append(l.Repetition, 0)
				l.Definition = append(l.Definition, map[bool]uint8{true: 0, false: 1}[r.List == nil])
			}
		}
		for k, it := range r.List {
			repetition := uint8(min(k, 1))
			c[6].Repetition, c[7].Repetition = append(c[6].Repetition, repetition), append(c[7].Repetition, repetition)
			optional(c[6], it.Label != nil, 3, func() { c[6].Texts.AppendString(*it.Label) })
			optional(c[7], it.Count != nil, 3, func() { c[7].Numbers = append(c[7].Numbers, *it.Count) })
		}
	}
	starts, inList = append(starts, len(records)), append(inList, len(c[6].Definition))
	for i := range c {
		c[i].Starts = starts
	}
	c[6].Starts, c[7].Starts = inList, inList
	makeDictionary(c[3])
	makeDictionary(c[6])
	return c[:8]
}

func optional(c *Column, present bool, level uint8, add func()) {
	if !present {
		c.Definition = append(c.Definition, level-1)
		return
	}
	c.Definition = append(c.Definition, level)
	add()
}

// makeDictionary turns Texts into Places.
func makeDictionary(c *Column) {
	var words []string
	for i := range c.Texts.Len() {
		words = append(words, string(c.Texts.At(i)))
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(words)))
	for _, w := range sorted {
		c.Dictionary.AppendString(w)
	}
	for _, w := range words {
		place, _ := slices.BinarySearch(sorted, w)
		c.Places = append(c.Places, int32(place))
	}
	c.Texts.Reset()
}

// encode writes one row group for each slice of records.
func encode(tb testing.TB, e *Encoder, groups ...[]record) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := e.Begin(&out, format.KeyValue{Key: "b", Value: "2"}, format.KeyValue{Key: "a", Value: "1"}); err != nil {
		tb.Fatal(err)
	}
	for _, g := range groups {
		c := columns(g)
		if err := e.RowGroup(len(g), func(leaf int) *Column { return c[leaf] }); err != nil {
			tb.Fatal(err)
		}
	}
	if err := e.End(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func decode(tb testing.TB, b []byte) (*parquet.File, []record) {
	tb.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		tb.Fatal(err)
	}
	r := parquet.NewGenericReader[record](f)
	defer func() { _ = r.Close() }()
	records := make([]record, f.NumRows())
	if n, err := r.Read(records); n != len(records) {
		tb.Fatalf("%d of %d rows: %v", n, len(records), err)
	}
	return f, records
}

func randomRecords(r *rand.Rand, n int) []record {
	maybe := func(s string) *string {
		if r.IntN(3) == 0 {
			return nil
		}
		return &s
	}
	records := make([]record, n)
	for i := range records {
		x := record{
			Number: r.Int64() - math.MaxInt64/2, Flag: r.IntN(2) == 0, Word: maybe(fmt.Sprint("word ", r.IntN(50))),
			Name: fmt.Sprintf("name %08d", i), Free: maybe(strings.Repeat("x", r.IntN(5))),
		}
		if r.IntN(2) == 0 {
			x.Small = new(r.Int32() - math.MaxInt32/2)
		}
		if r.IntN(4) > 0 {
			x.List = make([]item, r.IntN(4))
		}
		for k := range x.List {
			x.List[k].Label = maybe(fmt.Sprint(r.IntN(9)))
			if r.IntN(2) == 0 {
				x.List[k].Count = new(r.Int64N(100))
			}
		}
		records[i] = x
	}
	return records
}

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
