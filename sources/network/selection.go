package network

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
)

// paging is which page of a list is asked for.
type paging struct{ page, size int64 }

// parsePaging reads Page and PageSize.
func parsePaging(f *form) paging {
	return paging{
		page: f.integer("Page", 1, 1, maxInteger),
		size: f.integer("PageSize", DefaultPageSize, 1, MaxPageSize),
	}
}

// offset is how many records stand before the page. Pages behind all that a
// database can hold have the same one.
func (p paging) offset() int64 { return min(p.page-1, maxInteger/p.size) * p.size }

// append adds the members of a list's Data that stand behind its records.
func (p paging) append(b []byte, total int64) []byte {
	for _, member := range []struct {
		name  string
		value int64
	}{{"Total", total}, {"Page", p.page}, {"PageSize", p.size}} {
		b = append(b, `,"`+member.name+`":`...)
		b = strconv.AppendInt(b, member.value, 10)
	}
	return b
}

// selection is a list of which one page is read: the rows of a statement.
type selection struct {
	paging
	query string // without order
	order string // of the columns, without ties
	args  []any
}

// where adds a condition to the end of the query.
func (q *selection) where(condition string, args ...any) {
	q.query += " AND " + condition
	q.args = append(q.args, args...)
}

// equal filters by a parameter that may be absent.
func (q *selection) equal(column, value string) {
	if value != "" {
		q.where(column+" = ?", value)
	}
}

// scan reads the columns of a row.
type scan func(dest ...any) error

// page appends the Data of the selection, one state of the database. record
// makes the record of a row.
func (s *store) page(ctx context.Context, q *selection, b []byte, record func(scan) (any, error)) ([]byte, error) {
	reading, err := s.statement(ctx, q.query+" ORDER BY "+q.order+" LIMIT CAST(? AS BIGINT) OFFSET CAST(? AS BIGINT)")
	if err != nil {
		return nil, err
	}
	counting, err := s.statement(ctx, "SELECT COUNT(*) FROM ("+q.query+") AS list")
	if err != nil {
		return nil, err
	}
	b = append(b, `{"List":[`...)
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		var records, total int64
		if b, records, err = q.read(ctx, reading.in(ctx, tx), b, record); err != nil {
			return err
		}
		total = q.offset() + records
		if records == q.size || records == 0 && q.page > 1 { // a short page tells it
			if err := counting.in(ctx, tx).QueryRowContext(ctx, q.args...).Scan(&total); err != nil {
				return err
			}
		}
		b = q.append(append(b, ']'), total)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	return append(b, '}'), nil
}

// read appends the records of the page.
func (q *selection) read(ctx context.Context, st prepared, b []byte, record func(scan) (any, error)) ([]byte, int64, error) {
	args := append(append([]any(nil), q.args...), q.size, q.offset())
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	records := int64(0)
	for rows.Next() {
		data, err := record(rows.Scan)
		if err != nil {
			return nil, 0, err
		}
		if b, err = appendRecord(b, records > 0, data); err != nil {
			return nil, 0, err
		}
		records++
	}
	return b, records, rows.Err()
}

// appendRecord adds a record as JSON, behind a comma if there is one before it.
func appendRecord(b []byte, behind bool, record any) ([]byte, error) {
	data, err := json.Marshal(record)
	if behind {
		b = append(b, ',')
	}
	return append(b, data...), err
}
