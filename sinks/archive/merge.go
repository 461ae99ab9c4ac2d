package archive

import (
	"cmp"
	"container/heap"
	"context"
	"iter"
	"slices"
)

// mergeOpen is how many files are read at once. Of each a page of every column is
// held, which takes about 5 MiB.
const mergeOpen = 16

// merger brings the rows of several files into the order of one, as [compareRows]
// has it. Its memory is bounded by the files that it reads at once, however many
// there are: more are merged in levels, through temporary files.
type merger struct {
	// dir is a folder for temporary files, which must be there. They are called
	// *.tmp and are gone when the rows have ended or the caller wants no more.
	dir string
	// open is how many sources are read at once, 2 or more. 0: 16.
	open int
}

// rows merges sources of one account, each of which is in order; rows that are
// equal follow their sources. A source is started when it is its turn: put small
// ones first, because the first are those that pass through temporary files. The
// first error ends it: that of a source, or a [StorageError] of a temporary file.
func (m *merger) rows(ctx context.Context, sources []iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var temporary spills
		defer func() { temporary.remove() }()
		queue := slices.Clone(sources)
		for n := m.next(len(queue)); n > 0; n = m.next(len(queue)) {
			s, err := temporary.add(ctx, m.dir, interleave(queue[:n]))
			if err != nil {
				yield(Row{}, err)
				return
			}
			queue = append(queue[n:], s.rows(ctx))
		}
		interleave(queue)(yield)
	}
}

// next returns how many of so many sources are merged into a temporary file next,
// which becomes the last of them: just as many as must be. 0: all can be read at
// once.
func (m *merger) next(sources int) int {
	most := cmp.Or(m.open, mergeOpen)
	if sources <= most {
		return 0
	}
	return min(most, sources-most+1)
}

// interleave merges sources that are all read at once.
func interleave(sources []iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var front cursors
		for i, source := range sources {
			next, stop := iter.Pull2(source)
			defer stop()
			if c := (&cursor{next: next, place: i}); c.advance() {
				front = append(front, c)
			}
		}
		heap.Init(&front)
		for len(front) > 0 {
			least := front[0]
			if !yield(least.row, least.err) || least.err != nil {
				return
			}
			if least.advance() {
				heap.Fix(&front, 0)
			} else {
				heap.Pop(&front)
			}
		}
	}
}

// cursor stands at one row of a source, or at its error.
type cursor struct {
	row   Row
	err   error
	next  func() (Row, error, bool)
	place int // of the source among all
}

// advance reports whether there is another row or an error.
func (c *cursor) advance() (more bool) {
	c.row, c.err, more = c.next()
	return more
}

// cursors is a heap: the least row is first, an error before all.
type cursors []*cursor

// Len implements [heap.Interface], as the methods below do.
func (f cursors) Len() int { return len(f) }

// Less puts errors first, and equal rows into the order of their sources.
func (f cursors) Less(i, j int) bool {
	a, b := f[i], f[j]
	if a.err != nil || b.err != nil {
		return a.err != nil && (b.err == nil || a.place < b.place)
	}
	return cmp.Or(compareRows(&a.row, &b.row), cmp.Compare(a.place, b.place)) < 0
}

// Swap changes two places.
func (f cursors) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push appends a cursor.
func (f *cursors) Push(x any) { *f = append(*f, x.(*cursor)) }

// Pop takes the last cursor away.
func (f *cursors) Pop() any {
	last := len(*f) - 1
	c := (*f)[last]
	*f = (*f)[:last]
	return c
}
