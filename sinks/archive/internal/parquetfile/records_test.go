package parquetfile

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
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
