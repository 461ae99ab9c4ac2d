package commission

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Filter chooses the orders of a report. An empty field chooses all.
type Filter struct {
	Account   string
	ProgramID string
	WebsiteID string
	SubID     string
	Currency  string
	// Status is a value of specification 3.1 ("-1", "0", "1", "2"), its name
	// ("Pending"), or a text that the network sent instead.
	Status string
	// From and To are days, YYYY-MM-DD, both included. With either of them,
	// orders without a readable day are left out.
	From, To string
}

// Sum is one row of a report: the orders that agree in all of its texts.
type Sum struct {
	Account   string `json:"account"`
	ProgramID string `json:"program_id"`
	WebsiteID string `json:"website_id"`
	SubID     string `json:"sub_id"`
	Currency  string `json:"currency"`
	// Status is the value of specification 3.1, or the network's own text.
	Status string `json:"status"`
	// StatusName is the name of the specification, "Unknown" for other texts.
	StatusName string `json:"status_name"`
	// Day is the day of placement in the account's zone, YYYY-MM-DD, "" when
	// the network sent none that can be read.
	Day string `json:"day"`
	// Orders is the number of orders.
	Orders int64 `json:"orders"`
	// OrderAmount and Commission are in Currency, with two decimals. They may
	// exceed the decimal(10,2) of a single order.
	OrderAmount schema.Money `json:"order_amount"`
	Commission  schema.Money `json:"commission"`
}

// Total is the sum over all orders of one status and currency.
type Total struct {
	Currency    string       `json:"currency"`
	Status      string       `json:"status"`      // as in [Sum]
	StatusName  string       `json:"status_name"` // as in [Sum]
	Orders      int64        `json:"orders"`
	OrderAmount schema.Money `json:"order_amount"` // as in [Sum]
	Commission  schema.Money `json:"commission"`   // as in [Sum]
}

// Report returns the sums of the orders that f chooses, one for each account,
// program, day, website, sub id, currency and status, sorted by these in this
// order, byte by byte. The error is a [*FilterError] or a [*StoreError].
func (r *Reader) Report(ctx context.Context, f Filter) ([]Sum, error) {
	q := Query{Filter: f}
	kind, err := q.check()
	if err != nil {
		return nil, err
	}
	c, err := r.full(ctx, &q, kind, []string{"account", "program", "day", "website", "sub_id", "currency", "status"})
	if err != nil {
		return nil, r.fail("report", err)
	}
	all := c.results()
	sums := make([]Sum, len(all))
	for i := range all {
		v := &all[i]
		sums[i] = Sum{
			Account: c.text(v, 0), ProgramID: c.text(v, 1), Day: c.text(v, 2), WebsiteID: c.text(v, 3), SubID: c.text(v, 4),
			Currency: c.text(v, 5), Status: c.text(v, 6), StatusName: statusName(c.text(v, 6)),
			Orders: v.orders, OrderAmount: schema.MoneyFromCents(v.amount), Commission: schema.MoneyFromCents(v.commission),
		}
	}
	return sums, nil
}

// Totals returns the sums by currency and status, sorted by these. The error is
// a [*StoreError].
func (r *Reader) Totals(ctx context.Context) ([]Total, error) {
	q := Query{Group: []string{"status"}}
	query, args, err := q.statement(r.text, byOrderDay, q.level())
	if err != nil {
		return nil, err
	}
	totals, err := collect(ctx, r.db, scanTotal, r.rebind(query), args...)
	slices.SortFunc(totals, func(a, b Total) int {
		return slices.Compare([]string{a.Currency, a.Status}, []string{b.Currency, b.Status})
	})
	return totals, r.fail("totals", err)
}

// where returns the conditions on sums, or orders, of a level, each with a leading
// AND, and their arguments, as the books store texts.
func (q *Query) where(text func(string) string, level int64) (string, []any, error) {
	if err := errors.Join(checkDay("from", q.From), checkDay("to", q.To)); err != nil {
		return "", nil, err
	}
	where, args := q.dimensionsWhere(text, level)
	more, moreArgs := q.numbersWhere(text)
	return where + more, append(args, moreArgs...), nil
}

// dimensionsWhere is where for dimensions alone.
func (q *Query) dimensionsWhere(text func(string) string, level int64) (string, []any) {
	where, args := dimensionWhere(text, &q.Filter, q.LinkID)
	if where == "" {
		return "", nil
	}
	if level != inFull {
		where += onLevel[level]
	}
	return " AND dimension_id IN (SELECT id FROM commission_dimensions WHERE " + where + ")", args
}

// onLevel leaves out of dimensions those of other levels.
var onLevel = map[int64]string{
	byProgram: " AND website_id = '' AND sub_id = '' AND link_id = ''", bySubID: " AND program_id = '' AND website_id = '' AND link_id = ''",
	byWebsite: " AND program_id = '' AND sub_id = '' AND link_id = ''", byLink: " AND program_id = '' AND website_id = '' AND sub_id = ''",
}

// dimensionWhere returns the condition on dimensions, "" for none.
func dimensionWhere(text func(string) string, f *Filter, link string) (string, []any) {
	var all []string
	var args []any
	for _, c := range []struct{ column, value string }{
		{"account", f.Account}, {"program_id", f.ProgramID}, {"website_id", f.WebsiteID}, {"sub_id", f.SubID}, {"link_id", link},
	} {
		if c.value != "" {
			all, args = append(all, c.column+" = ?"), append(args, text(c.value))
		}
	}
	return strings.Join(all, " AND "), args
}

// numbersWhere returns the conditions on currency, status and day.
func (f *Filter) numbersWhere(text func(string) string) (where string, args []any) {
	for _, c := range []struct{ column, value string }{{"currency", f.Currency}, {"status", statusValue(f.Status)}} {
		if c.value != "" {
			where += " AND " + c.column + " = (SELECT id FROM commission_texts WHERE text = ?)"
			args = append(args, text(c.value))
		}
	}
	if f.From != "" {
		where, args = where+" AND day >= ?", append(args, dayOf(f.From))
	}
	if f.To != "" {
		where, args = where+" AND day > 0 AND day <= ?", append(args, dayOf(f.To))
	}
	return where, args
}

func checkDay(field, s string) error {
	if s == "" {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return &FilterError{Field: field, Problem: "is no day; write it as YYYY-MM-DD, 2026-03-01 for instance"}
	}
	return nil
}

// statusValue turns a status or its name into what the books hold.
func statusValue(s string) string {
	if status, err := schema.ParseSettlementStatus(s); err == nil {
		return status.Value()
	}
	return s
}

func statusName(value string) string {
	if status, err := schema.ParseSettlementStatus(value); err == nil {
		return status.String()
	}
	return "Unknown"
}

func scanTotal(rows *sql.Rows) (Total, error) {
	var t Total
	var amount, commission int64
	err := rows.Scan(&t.Status, &t.Currency, &t.Orders, &amount, &commission)
	t.StatusName = statusName(t.Status)
	t.OrderAmount, t.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
	return t, err
}

// collect returns all rows of a query, never nil, so that no rows are [] in JSON.
func collect[T any](ctx context.Context, db querier, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	all := []T{}
	err := each(ctx, db, func(rows *sql.Rows) (bool, error) {
		row, err := scan(rows)
		all = append(all, row)
		return true, err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// each calls take for the rows of a query, until it wants no more.
func each(ctx context.Context, db querier, take func(*sql.Rows) (more bool, err error), query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := take(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
