package archive

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
)

// states returns the last event of each order of an account within the limits, in
// the order of a file.
func (t *taker) states(ctx context.Context, files []File) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var winners map[string]int64
		for row, err := range lastOfEach(t.merged(ctx, files, t.counted), t.within) {
			if err == nil && winners == nil && program(&row) == "" && row.ProgramID != nil {
				winners, err = t.winners(ctx, files)
			}
			if err == nil && program(&row) == "" {
				if winner, two := winners[row.OrderSn]; two && winner != row.Sequence {
					continue
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// merged returns the rows of files in the order of one, and shows each to seen as it
// is read.
func (t *taker) merged(ctx context.Context, files []File, seen func(*Row)) iter.Seq2[Row, error] {
	var sources []iter.Seq2[Row, error]
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Bytes, b.Bytes) }) {
		sources = append(sources, func(yield func(Row, error) bool) {
			for row, err := range sourceRows(ctx, t.from, &f) {
				if err == nil {
					seen(&row)
				}
				if !yield(row, err) {
					return
				}
			}
		})
	}
	return (&merger{dir: t.temp}).rows(ctx, sources)
}

// counted counts a row that has been read.
func (t *taker) counted(r *Row) {
	t.report.Events++
	if !t.within(r) {
		t.report.Later++
	}
	if t.report.Events%progressRows == 0 || t.report.Events == t.total {
		t.cfg.Progress(t.report.Events, t.total)
	}
}

// lastOfEach keeps, of rows in the order of a file, that of each order which has the
// greatest sequence among those within the limits.
func lastOfEach(rows iter.Seq2[Row, error], within func(*Row) bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var last Row
		held := false
		for row, err := range rows {
			switch {
			case err != nil:
				yield(Row{}, err)
				return
			case !within(&row):
			case !held:
				last, held = row, true
			case compareOrders(&last, &row) != 0:
				if !yield(last, nil) {
					return
				}
				last = row
			case row.Sequence > last.Sequence:
				last = row
			}
		}
		if held {
			yield(last, nil)
		}
	}
}

// winners is for networks that send some orders with an empty program as well as
// with none. To the log both are the same order, but its rows stand at the two ends
// of a file. It returns the last sequence of every order that has rows at both. It
// is asked for only when there is an empty program, and reads the files once more.
func (t *taker) winners(ctx context.Context, files []File) (map[string]int64, error) {
	ends := func(none bool) iter.Seq2[Row, error] {
		return only(lastOfEach(t.merged(ctx, files, func(*Row) {}), t.within), none)
	}
	empty, stop := iter.Pull2(ends(false))
	defer stop()
	winners := map[string]int64{}
	row, err, more := empty()
	for other, err2 := range ends(true) {
		for more && err == nil && row.OrderSn < other.OrderSn {
			row, err, more = empty()
		}
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		if more && row.OrderSn == other.OrderSn {
			winners[row.OrderSn] = max(row.Sequence, other.Sequence)
		}
	}
	return winners, err
}

// only keeps the rows without a program, or those with an empty one, which come
// first.
func only(rows iter.Seq2[Row, error], none bool) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil && !none && program(&row) != "" {
				return
			}
			if err != nil || (row.ProgramID == nil) == none && program(&row) == "" {
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// program is the program in the key of a row's order.
func program(r *Row) string { return orEmpty(r.ProgramID) }
