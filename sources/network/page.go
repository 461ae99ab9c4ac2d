package network

import (
	"context"
	"database/sql"
)

// pageQuery reads one page of a list, with its total, in a snapshot.
type pageQuery struct {
	*listing
	publisher int64
	key       string // of the list in the bookmarks

	change, reading, counting, minutes prepared

	total      int64 // negative until it is known
	start, end mark  // of the page, before its first and behind its last record
}

// pageQuery prepares the reading. The page goes on from a place in the index
// of the time field; (time, id) is an order without ties.
func (s *store) pageQuery(ctx context.Context, l *listing, publisher int64) (*pageQuery, error) {
	q := &pageQuery{listing: l, publisher: publisher, key: l.key(publisher), total: -1}
	for _, st := range []struct {
		to    *prepared
		query string
	}{
		{&q.change, `SELECT last_change FROM counters WHERE id = 1`},
		{&q.reading, l.pageStatement()},
		{&q.counting, "SELECT COUNT(*) FROM orders WHERE publisher_id = ? AND " + l.column + " BETWEEN ? AND ?" + l.where},
		{&q.minutes, minutesQuery},
	} {
		var err error
		if *st.to, err = s.statement(ctx, st.query); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// pageStatement reads orders behind a place. It names those of the place's own
// second apart, because SQLite does not find a (time, id) in the index. The
// casts keep SQLite from planning it again for every number.
func (l *listing) pageStatement() string {
	part := func(condition string) string {
		return "SELECT " + l.column + ", id, head, details FROM orders WHERE publisher_id = ? AND " + l.column + " <= ?" +
			" AND " + l.column + condition + l.where
	}
	return part(" = ? AND id > ?") + " UNION ALL " + part(" > ?") +
		" ORDER BY 1, 2 LIMIT CAST(? AS BIGINT) OFFSET CAST(? AS BIGINT)"
}

// pageArguments are those of pageStatement.
func (q *pageQuery) pageArguments(from mark) []any {
	at := from.place
	args := append([]any{q.publisher, q.to, at.at, at.id}, q.filters...)
	args = append(append(args, q.publisher, q.to, at.at), q.filters...)
	return append(args, q.size, q.offset()-from.offset)
}

// read reads the page into b, and the total.
func (q *pageQuery) read(ctx context.Context, tx *sql.Tx, known *bookmarks, b *listBuffer) error {
	var change int64
	if err := q.change.in(ctx, tx).QueryRowContext(ctx).Scan(&change); err != nil {
		return err
	}
	near, err := q.near(ctx, tx, known, change)
	if err != nil {
		return err
	}
	if err := q.records(ctx, tx, near, b); err != nil {
		return err
	}
	if q.total < 0 && !b.bare {
		if err := q.count(ctx, tx, b.records); err != nil {
			return err
		}
	}
	if b.records > 0 {
		known.remember(q.key, change, q.total, q.start, q.end)
	}
	return nil
}

// near finds a place near the page: one that is remembered, or the beginning
// of the list or of one of its minutes.
func (q *pageQuery) near(ctx context.Context, tx *sql.Tx, known *bookmarks, change int64) (mark, error) {
	total, at, found := known.recall(q.key, change, q.offset())
	q.total = total
	if !found {
		at = q.first()
	}
	if at.offset == q.offset() || len(q.filters) > 0 {
		return at, nil
	}
	begin, err := q.tally(ctx, tx)
	if begin.offset > at.offset {
		at = begin
	}
	return at, err
}

// first is the place before all orders of the list; ids are positive.
func (q *pageQuery) first() mark { return mark{place: place{at: q.from}} }

// records reads the page, which is near a mark.
func (q *pageQuery) records(ctx context.Context, tx *sql.Tx, from mark, b *listBuffer) error {
	rows, err := q.reading.in(ctx, tx).QueryContext(ctx, q.pageArguments(from)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var head, lines string // not copied, as bytes would be
	for rows.Next() {
		if err := rows.Scan(&q.end.place.at, &q.end.place.id, &head, &lines); err != nil {
			return err
		}
		if b.records == 0 {
			q.start = mark{q.offset(), place{q.end.place.at, q.end.place.id - 1}}
		}
		b.add(head, lines)
	}
	q.end.offset = q.offset() + b.records
	return rows.Err()
}

// count finds the total after the page was read: a short page tells it.
func (q *pageQuery) count(ctx context.Context, tx *sql.Tx, records int64) (err error) {
	switch {
	case records < q.size && (records > 0 || q.page == 1):
		q.total = q.offset() + records
	case len(q.filters) == 0:
		_, err = q.tally(ctx, tx)
	default:
		q.total, err = q.between(ctx, tx, q.from, q.to)
	}
	return err
}

// between counts the orders of the list in a part of its time.
func (q *pageQuery) between(ctx context.Context, tx *sql.Tx, from, to int64) (n int64, err error) {
	if from > to {
		return 0, nil
	}
	args := append([]any{q.publisher, from, to}, q.filters...)
	return n, q.counting.in(ctx, tx).QueryRowContext(ctx, args...).Scan(&n)
}
