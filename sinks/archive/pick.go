package archive

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// The columns by which single rows can be picked out of a file.
const (
	columnOrder = "order_sn" // with a bloom filter and ascending pages
	columnEvent = "event_id" // read as a whole, and nothing else is
)

// pick says which rows of a file are wanted: those whose column has one of some
// values.
type pick struct {
	column string
	values []parquet.Value
}

func newPick(column string, texts ...string) *pick {
	p := &pick{column: column}
	for _, text := range texts {
		p.values = append(p.values, parquet.ByteArrayValue([]byte(text)))
	}
	return p
}

func (p *pick) wants(v parquet.Value) bool {
	return slices.ContainsFunc(p.values, func(w parquet.Value) bool { return string(v.ByteArray()) == string(w.ByteArray()) })
}

// stretch is a range of rows of a group, the end not included.
type stretch struct{ begin, end int64 }

// pickedRows reads the rows of a live file that a pick wants. The first error ends
// it, as with liveRows.
func pickedRows(ctx context.Context, s store, f *File, p *pick) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		file, err := openUnreplaced(ctx, s, f)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		more := true
		err = p.read(ctx, file, accountOf(f.Path), func(r Row) bool {
			more = yield(r, nil)
			return more
		})
		if err != nil && more {
			yield(Row{}, err)
		}
	}
}

// read hands over what a file has. A file whose filters rule everything out
// is not read beyond them.
func (p *pick) read(ctx context.Context, file *openedFile, account string, take func(Row) bool) error {
	brief, err := parquet.OpenFile(file, file.size, parquet.SkipPageIndex(true))
	if err != nil {
		return &ManifestError{Path: file.name, Problem: "is no Parquet file", Cause: err}
	}
	if !slices.ContainsFunc(brief.RowGroups(), p.possible) {
		return nil
	}
	content, err := parquet.OpenFile(file, file.size)
	if err != nil {
		return &ManifestError{Path: file.name, Problem: "is no Parquet file", Cause: err}
	}
	for _, group := range content.RowGroups() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !p.possible(group) {
			continue
		}
		more, err := p.group(group, account, take)
		if err != nil {
			return &ManifestError{Path: file.name, Problem: "is damaged", Cause: err}
		}
		if !more {
			return nil
		}
	}
	return nil
}

func (p *pick) chunk(group parquet.RowGroup) parquet.ColumnChunk {
	leaf, _ := group.Schema().Lookup(p.column)
	return group.ColumnChunks()[leaf.ColumnIndex]
}

// possible asks the filter of a group, if it has one.
func (p *pick) possible(group parquet.RowGroup) bool {
	filter := p.chunk(group).BloomFilter()
	return filter == nil || slices.ContainsFunc(p.values, func(v parquet.Value) bool {
		there, err := filter.Check(v)
		return there || err != nil
	})
}

// group hands over what a group has, and reports whether more is wanted.
func (p *pick) group(group parquet.RowGroup, account string, take func(Row) bool) (more bool, err error) {
	rows, err := p.wanted(group)
	if err != nil || len(rows) == 0 {
		return true, err
	}
	reader := parquet.NewGenericRowGroupReader[Row](group)
	defer func() { _ = reader.Close() }()
	for _, s := range rows {
		if err := reader.SeekToRow(s.begin); err != nil {
			return false, err
		}
		for at := s.begin; at < s.end; {
			some := make([]Row, min(s.end-at, readRows))
			n, err := reader.Read(some)
			at += int64(n)
			for _, r := range some[:n] {
				r.Account = account
				if !take(r) {
					return false, nil
				}
			}
			if err != nil && (!errors.Is(err, io.EOF) || at < s.end) {
				return false, err
			}
		}
	}
	return true, nil
}

// wanted returns the rows of a group that are wanted.
func (p *pick) wanted(group parquet.RowGroup) (all []stretch, err error) {
	chunk := p.chunk(group)
	within := []stretch{{0, group.NumRows()}}
	if p.column == columnOrder {
		if within, err = p.pages(chunk, group.NumRows()); err != nil {
			return nil, err
		}
	}
	for _, w := range within {
		some, err := p.rows(chunk, w)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// pages returns those whose bounds let a value in.
func (p *pick) pages(chunk parquet.ColumnChunk, rows int64) (all []stretch, err error) {
	bounds, err := chunk.ColumnIndex()
	if err != nil {
		return nil, err
	}
	places, err := chunk.OffsetIndex()
	if err != nil {
		return nil, err
	}
	compare := chunk.Type().Compare
	for i := range bounds.NumPages() {
		inside := func(v parquet.Value) bool {
			return compare(bounds.MinValue(i), v) <= 0 && compare(bounds.MaxValue(i), v) >= 0
		}
		if bounds.NullPage(i) || !slices.ContainsFunc(p.values, inside) {
			continue
		}
		end := rows
		if i+1 < places.NumPages() {
			end = places.FirstRowIndex(i + 1)
		}
		all = append(all, stretch{places.FirstRowIndex(i), end})
	}
	return all, nil
}

// rows reads a part of the column and returns where it has a value.
func (p *pick) rows(chunk parquet.ColumnChunk, within stretch) (all []stretch, err error) {
	pages := chunk.Pages()
	defer func() { _ = pages.Close() }()
	if err := pages.SeekToRow(within.begin); err != nil {
		return nil, err
	}
	values := make([]parquet.Value, readRows)
	for row := within.begin; row < within.end; {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		begin := row
		for in := page.Values(); err == nil; {
			var n int
			n, err = in.ReadValues(values)
			for i, v := range values[:n] {
				if at := row + int64(i); p.wants(v) {
					all = join(all, at)
				}
			}
			row += int64(n)
		}
		parquet.Release(page)
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if row == begin {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return all, nil
}

// join adds a row behind the others.
func join(all []stretch, row int64) []stretch {
	if n := len(all); n > 0 && all[n-1].end == row {
		all[n-1].end++
		return all
	}
	return append(all, stretch{row, row + 1})
}
