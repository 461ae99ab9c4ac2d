package network

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// minutesQuery gives all minutes of a span as one text, which costs a tenth of
// as many rows.
const minutesQuery = `SELECT string_agg(minute || ' ' || orders, ' ') FROM order_counts
	WHERE publisher_id = ? AND field = ? AND minute >= ? AND minute < ? AND orders > 0`

// minuteCount is how many orders have their time in a minute.
type minuteCount struct{ minute, orders int64 }

// tally finds the total of a list without filters from the orders counted by
// the minute, and the last beginning of a minute that is not behind the page.
// Only the ends of the list, within a minute, are counted one by one.
func (q *pageQuery) tally(ctx context.Context, tx *sql.Tx) (mark, error) {
	// Whole minutes; the first one of all is not, as division rounds toward it
	// from both sides.
	low, high := max((q.from+minute-1)/minute, 1), (q.to+1)/minute
	at := q.first()
	if low >= high {
		var err error
		q.total, err = q.between(ctx, tx, q.from, q.to)
		return at, err
	}
	before, err := q.between(ctx, tx, q.from, low*minute-1)
	if err != nil {
		return at, err
	}
	all, err := q.counted(ctx, tx, low, high)
	if err != nil {
		return at, err
	}
	after, err := q.between(ctx, tx, high*minute, q.to)
	if err != nil {
		return at, err
	}
	q.total = before
	for _, m := range append(all, minuteCount{high, after}) {
		if q.total <= q.offset() {
			at = mark{q.total, place{at: m.minute * minute}}
		}
		q.total += m.orders
	}
	return at, nil
}

// counted reads the minutes from low up to high that have orders, in order.
func (q *pageQuery) counted(ctx context.Context, tx *sql.Tx, low, high int64) ([]minuteCount, error) {
	var text []byte
	err := q.minutes.in(ctx, tx).QueryRowContext(ctx, q.publisher, q.column, low, high).Scan(&text)
	if err != nil {
		return nil, err
	}
	all, err := parseMinutes(text)
	slices.SortFunc(all, func(a, b minuteCount) int { return cmp.Compare(a.minute, b.minute) })
	return all, err
}

// parseMinutes reads pairs of numbers, all separated by spaces.
func parseMinutes(text []byte) ([]minuteCount, error) {
	var numbers []int64
	inside := false
	for _, c := range text {
		switch {
		case c == ' ':
			inside = false
			continue
		case c < '0' || c > '9':
			return nil, fmt.Errorf("counts: want digits, not %q", c)
		case !inside:
			numbers = append(numbers, 0)
		}
		inside = true
		numbers[len(numbers)-1] = numbers[len(numbers)-1]*10 + int64(c-'0')
	}
	all := make([]minuteCount, len(numbers)/2)
	for i := range all {
		all[i] = minuteCount{numbers[2*i], numbers[2*i+1]}
	}
	return all, nil
}
