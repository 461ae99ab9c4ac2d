package network

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/orderwire/orderwire/schema"
)

// The limits of a list of orders.
const (
	DefaultPageSize = 20
	MaxPageSize     = 200
	MaxSpan         = 24 * 60 * 60 // seconds between Stime and Etime
)

// headSize is a guess of the size of a record's head, in bytes.
const headSize = 512

// timeColumns are the times that OrderField names, in the column's index order.
var timeColumns = map[string]string{
	"UpdateTime":    "updated_at",
	"ChargeTime":    "charge_time",
	"OrderDatatime": "order_time", // their spelling
}

// orderFilters are the filters of a list and the columns that they compare.
var orderFilters = []struct{ name, column string }{
	{"WebsiteId", "website_id"}, {"ProgramId", "program_id"}, {"SubId", "sub_id"},
}

// listing asks for one page of a publisher's orders.
type listing struct {
	paging
	column   string // time that from and to filter
	from, to int64  // Unix seconds, both included
	where    string // the filters in SQL, "" for none
	filters  []any
}

// parseListing reads the parameters of orders.query.get.
func parseListing(f *form) (listing, error) {
	l := listing{from: f.requiredInteger("Stime"), to: f.requiredInteger("Etime"), paging: parsePaging(f)}
	field := f.choice("OrderField", "UpdateTime, ChargeTime or OrderDatatime", "UpdateTime", "ChargeTime", "OrderDatatime")
	l.column = timeColumns[field]
	for _, filter := range orderFilters {
		if value := f.text(filter.name); value != "" {
			l.filter(filter.column, value)
		}
	}
	if status := f.choice("Status", "-1, 0, 1 or 2", "", "-1", "0", "1", "2"); status != "" {
		s, err := schema.ParseSettlementStatus(status)
		if err != nil {
			return listing{}, err
		}
		l.filter("status", int64(s))
	}
	return l, f.span(l.from, l.to)
}

// span checks Stime and Etime, and returns the first error of the form.
func (f *form) span(from, to int64) error {
	switch {
	case f.err != nil:
		return f.err
	case to < from:
		f.breaks("Etime", "not before Stime")
		return f.err
	case to-from > MaxSpan:
		return refuse(StatusSpan, "Etime: want at most %d s after Stime", MaxSpan)
	default:
		return nil
	}
}

func (l *listing) filter(column string, value any) {
	l.where += " AND " + column + " = ?"
	l.filters = append(l.filters, value)
}

// key tells the list apart from all others, its pages not.
func (l *listing) key(publisher int64) string {
	return fmt.Sprintf("%d %s %d %d%s %q", publisher, l.column, l.from, l.to, l.where, l.filters)
}

// queryOrders answers orders.query.get.
func (s *Service) queryOrders(ctx context.Context, by caller, f *form, out []byte) ([]byte, error) {
	l, err := parseListing(f)
	if err != nil {
		return nil, err
	}
	q, err := s.store.pageQuery(ctx, &l, by.publisher)
	if err != nil {
		return nil, err
	}
	b := listBuffer{bare: s.config.BareList, writer: recordWriter{s.config.TimeZone, !s.config.OmitDetails}, out: out}
	b.begin()
	if err := s.store.snapshot(ctx, func(tx *sql.Tx) error { return q.read(ctx, tx, &s.bookmarks, &b) }); err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	return b.end(&l, q.total), nil
}

// listBuffer builds the Data of a list of orders.
type listBuffer struct {
	bare    bool // only the array
	writer  recordWriter
	out     []byte
	records int64
}

func (b *listBuffer) begin() {
	if !b.bare {
		b.out = append(b.out, `{"List":`...)
	}
	b.out = append(b.out, '[')
}

// add appends a record.
func (b *listBuffer) add(head, lines string) {
	if b.records > 0 {
		b.out = append(b.out, ',')
	}
	b.out = b.writer.append(b.out, head, lines)
	b.records++
}

// end closes the Data.
func (b *listBuffer) end(l *listing, total int64) []byte {
	b.out = append(b.out, ']')
	if b.bare {
		return b.out
	}
	return append(l.append(b.out, total), '}')
}
