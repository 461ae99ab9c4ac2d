package parquetfile

import (
	"github.com/parquet-go/parquet-go/format"
)

// pageIndex collects what the footer says of the pages of a column chunk.
type pageIndex struct {
	columns format.ColumnIndex
	offsets format.OffsetIndex
	whole   bounds // of all pages
	nulls   int64
	wide    bool // some bound is too long to write
}

// add takes the next page.
func (x *pageIndex) add(l *leaf, b bounds, nulls int) {
	c := &x.columns
	c.NullPages = append(c.NullPages, b.void)
	c.NullCounts = append(c.NullCounts, int64(nulls))
	x.nulls += int64(nulls)
	x.wide = x.wide || len(b.low) > longestBound || len(b.high) > longestBound
	if x.wide {
		return
	}
	b = b.clone()
	c.MinValues, c.MaxValues = append(c.MinValues, b.low), append(c.MaxValues, b.high)
	switch {
	case b.void:
	case x.whole.low == nil:
		x.whole = b
	default:
		if l.compare(b.low, x.whole.low) < 0 {
			x.whole.low = b.low
		}
		if l.compare(b.high, x.whole.high) > 0 {
			x.whole.high = b.high
		}
	}
}

// compare orders two bounds.
func (l *leaf) compare(a, b []byte) int { return l.typ.Compare(l.kind.Value(a), l.kind.Value(b)) }

// statistics returns what the index says of the whole chunk.
func (x *pageIndex) statistics() format.Statistics {
	if x.wide {
		return format.Statistics{NullCount: x.nulls}
	}
	return format.Statistics{NullCount: x.nulls, MinValue: x.whole.low, MaxValue: x.whole.high}
}

// order says whether both bounds ascend from page to page.
func (x *pageIndex) order(l *leaf) format.BoundaryOrder {
	c, last := &x.columns, -1
	for i, void := range c.NullPages {
		if void {
			continue
		}
		if last >= 0 && (l.compare(c.MinValues[i], c.MinValues[last]) < 0 || l.compare(c.MaxValues[i], c.MaxValues[last]) < 0) {
			return format.Unordered
		}
		last = i
	}
	return format.Ascending
}

// writeIndexes writes the page index of all row groups: first the bounds, then
// the places of the pages.
func (e *Encoder) writeIndexes() (err error) {
	for g, group := range e.indexes {
		for i := range group {
			x, c := &group[i], &e.footer.RowGroups[g].Columns[i]
			if x.wide {
				continue
			}
			x.columns.BoundaryOrder = x.order(&e.leaves[i])
			if c.ColumnIndexOffset, c.ColumnIndexLength, err = e.place(&x.columns); err != nil {
				return err
			}
		}
	}
	for g, group := range e.indexes {
		for i := range group {
			c := &e.footer.RowGroups[g].Columns[i]
			if c.OffsetIndexOffset, c.OffsetIndexLength, err = e.place(&group[i].offsets); err != nil {
				return err
			}
		}
	}
	return nil
}
