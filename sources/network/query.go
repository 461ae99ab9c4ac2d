package network

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/orderwire/orderwire/schema"
)

// The limits of a list of orders.
const (
	DefaultPageSize = 20
	MaxPageSize     = 200
	MaxSpan         = 24 * 60 * 60 // seconds between Stime and Etime
)

// recordSize is a guess of the size of a record, in bytes.
const recordSize = 2 << 10

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
	column     string // time that from and to filter
	from, to   int64  // Unix seconds, both included
	page, size int64
	where      string // the filters in SQL, "" for none
	filters    []any
}

// parseListing reads the parameters of orders.query.get.
func parseListing(f *form) (listing, error) {
	l := listing{from: f.requiredInteger("Stime"), to: f.requiredInteger("Etime")}
	l.page = f.integer("Page", 1, 1, maxInteger)
	l.size = f.integer("PageSize", DefaultPageSize, 1, MaxPageSize)
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
	switch {
	case f.err != nil:
		return listing{}, f.err
	case l.to < l.from:
		f.breaks("Etime", "not before Stime")
		return listing{}, f.err
	case l.to-l.from > MaxSpan:
		return listing{}, refuse(StatusSpan, "Etime: want at most %d s after Stime", MaxSpan)
	}
	return l, nil
}

func (l *listing) filter(column string, value any) {
	l.where += " AND " + column + " = ?"
	l.filters = append(l.filters, value)
}

// condition is the WHERE of the list and its arguments.
func (l *listing) condition(publisher int64) (string, []any) {
	args := append([]any{publisher, l.from, l.to}, l.filters...)
	return " WHERE publisher_id = ? AND " + l.column + " BETWEEN ? AND ?" + l.where, args
}

// queries returns the statements of the page and of the total. The page first
// finds its ids in the index of the time field, so that pages that are skipped
// cost no reading of orders; (time, id) is an order without ties.
func (l *listing) queries(publisher int64) (page, total string, args []any) {
	where, args := l.condition(publisher)
	order := " ORDER BY " + l.column + ", id"
	page = "SELECT " + orderColumns + " FROM orders WHERE id IN (SELECT id FROM orders" + where + order +
		" LIMIT ? OFFSET ?)" + order
	return page, "SELECT COUNT(*) FROM orders" + where, args
}

// queryOrders answers orders.query.get.
func (s *Service) queryOrders(ctx context.Context, by caller, f *form) ([]byte, error) {
	l, err := parseListing(f)
	if err != nil {
		return nil, err
	}
	pageQuery, totalQuery, args := l.queries(by.publisher)
	page, err := s.store.statement(ctx, pageQuery)
	if err != nil {
		return nil, err
	}
	total, err := s.store.statement(ctx, totalQuery)
	if err != nil {
		return nil, err
	}
	b := listBuffer{bare: s.config.BareList, writer: recordWriter{s.config.TimeZone, !s.config.OmitDetails}}
	err = s.store.snapshot(ctx, func(tx *sql.Tx) error {
		if err := b.page(ctx, tx.StmtContext(ctx, page.Stmt), append(args, l.size, (l.page-1)*l.size)); err != nil {
			return err
		}
		return b.count(ctx, tx.StmtContext(ctx, total.Stmt), args, l)
	})
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	return b.end(l), nil
}

// listBuffer builds the Data of a list of orders.
type listBuffer struct {
	bare    bool // only the array
	writer  recordWriter
	out     []byte
	records int64
	total   int64
}

// page appends the records of a page.
func (b *listBuffer) page(ctx context.Context, st *sql.Stmt, args []any) error {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	b.out = make([]byte, 0, 16*recordSize)
	if !b.bare {
		b.out = append(b.out, `{"List":`...)
	}
	b.out = append(b.out, '[')
	for ; rows.Next(); b.records++ {
		o, err := scanOrder(rows.Scan)
		if err != nil {
			return err
		}
		if b.records > 0 {
			b.out = append(b.out, ',')
		}
		b.out = b.writer.append(b.out, &o)
	}
	b.out = append(b.out, ']')
	return rows.Err()
}

// count finds the total: a short page tells it, otherwise the orders are
// counted in the index.
func (b *listBuffer) count(ctx context.Context, st *sql.Stmt, args []any, l listing) error {
	if b.bare {
		return nil
	}
	if b.records < l.size && (b.records > 0 || l.page == 1) {
		b.total = (l.page-1)*l.size + b.records
		return nil
	}
	return st.QueryRowContext(ctx, args...).Scan(&b.total)
}

// end closes the Data.
func (b *listBuffer) end(l listing) []byte {
	if b.bare {
		return b.out
	}
	for _, member := range []struct {
		name  string
		value int64
	}{{"Total", b.total}, {"Page", l.page}, {"PageSize", l.size}} {
		b.out = append(b.out, `,"`+member.name+`":`...)
		b.out = strconv.AppendInt(b.out, member.value, 10)
	}
	return append(b.out, '}')
}
