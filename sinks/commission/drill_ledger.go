package commission

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// Parts of a [StatementLine].
const (
	PartOpening  = "opening"  // what was posted before the month
	PartMovement = "movement" // what was posted in it
	PartClosing  = "closing"  // both
)

// PostingFilter names a sum of a statement.
type PostingFilter struct {
	Month         string // YYYY-MM
	Part          string // one of the Part… constants
	LedgerAccount string
	Currency      string // as in the statement, "" for none
	Account       string // "" for all accounts
	// Sort is order, account, program, sub_id, day, status, postings or amount; ""
	// for the account, the program and the order.
	Sort       string
	Descending bool
	// Limit is the most orders to return, 0 means 50; Offset is how many to pass
	// over before.
	Limit, Offset int
}

// Postings are what one order adds to a sum of a statement.
type Postings struct {
	Key        schema.OrderKey
	SubID      string
	Day        string // of placement, as in [Sum]
	Status     string // today, as in [Sum]
	StatusName string // as in [Sum]
	Count      int64  // transactions
	Amount     schema.Money
}

// Posted is a page of the orders behind a sum of a statement.
type Posted struct {
	Orders []Postings
	Total  int64        // of all pages
	Amount schema.Money // of all pages: the sum of the statement
}

var postingSorts = map[string]string{
	"order": "o.order_sn", "account": "d.account", "program": "d.program_id", "sub_id": "n.sub_id", "day": "o.day", "status": "s.text",
	"postings": "COUNT(*)", "amount": "SUM(e.amount)",
}

// A transaction has one line at most for an account in a currency.
const (
	fromPostings = `
FROM (SELECT p.order_id, CASE WHEN p.account_1 = a.id AND p.currency = c.id THEN p.amount_1 WHEN p.account_2 = a.id AND p.currency = c.id THEN p.amount_2
		WHEN p.account_3 = a.id AND p.currency_3 = c.id THEN p.amount_3 WHEN p.account_4 = a.id AND p.currency_3 = c.id THEN p.amount_4 END AS amount
	FROM ledger_postings p, (SELECT id FROM commission_texts WHERE text = ?) AS a, (SELECT id FROM commission_texts WHERE text = ?) AS c
	WHERE p.posted_on BETWEEN ? AND ?) AS e
JOIN commission_states o ON o.id = e.order_id JOIN commission_dimensions d ON d.id = o.owner_id
JOIN commission_dimensions n ON n.id = o.dimension_id JOIN commission_texts s ON s.id = o.status`
	selectPostings = "SELECT d.account, d.program_id, o.order_sn, n.sub_id, o.day, s.text, COUNT(*), CAST(SUM(e.amount) AS BIGINT), " +
		"COUNT(*) OVER (), CAST(SUM(SUM(e.amount)) OVER () AS BIGINT)"
)

// Posted returns a page of the orders behind a sum: all that were posted to it in
// the month, and for opening and closing those that still add to it. It reads the
// entries themselves: of a month, or of all up to it. The error is a
// [*FilterError] or a [*StoreError].
func (r *Reader) Posted(ctx context.Context, f PostingFilter) (*Posted, error) {
	if _, err := parseMonth(f.Month); err != nil {
		return nil, err
	}
	from, to := monthDays(f.Month)
	switch f.Part {
	case PartOpening:
		from, to = 0, from-1
	case PartMovement:
	case PartClosing:
		from = 0
	default:
		return nil, &FilterError{Field: "part", Problem: "cannot be " + f.Part + "; write opening, movement or closing"}
	}
	order, known := postingSorts[f.Sort]
	if f.Sort != "" && !known {
		return nil, &FilterError{Field: "sort", Problem: "cannot be " + f.Sort}
	}
	if order = cmp.Or(order, "d.account"); f.Descending {
		order += " DESC"
	}
	where, args := " WHERE e.amount IS NOT NULL", []any{storable(f.LedgerAccount), r.text(storable(f.Currency)), from, to}
	if f.Account != "" {
		where, args = where+" AND d.account = ?", append(args, r.text(storable(f.Account)))
	}
	rows := fromPostings + where + " GROUP BY o.id, d.account, d.program_id, o.order_sn, n.sub_id, o.day, s.text"
	if f.Part != PartMovement {
		rows += " HAVING SUM(e.amount) <> 0"
	}
	return r.posted(ctx, &f, rows+" ORDER BY "+order+", d.account, d.program_id, o.order_sn LIMIT ? OFFSET ?", args)
}

// posted reads a page with the totals of all; when it lies behind the last one, the
// first row has them.
func (r *Reader) posted(ctx context.Context, f *PostingFilter, rows string, args []any) (*Posted, error) {
	found, sum := &Posted{}, int64(0)
	read := func(limit, offset int) (all []Postings, err error) {
		all, err = collect(ctx, r.db, scanPostings(&found.Total, &sum), r.rebind(selectPostings+rows), append(slices.Clone(args), int64(limit), int64(offset))...)
		return all, r.fail("search postings", err)
	}
	var err error
	if found.Orders, err = read(cmp.Or(max(f.Limit, 0), fewOrders), max(f.Offset, 0)); err != nil {
		return nil, err
	}
	if len(found.Orders) == 0 && f.Offset > 0 {
		if _, err := read(1, 0); err != nil {
			return nil, err
		}
	}
	found.Amount = schema.MoneyFromCents(sum)
	return found, nil
}

func scanPostings(total, sum *int64) func(*sql.Rows) (Postings, error) {
	return func(rows *sql.Rows) (Postings, error) {
		var p Postings
		var amount int64
		err := rows.Scan(&p.Key.Account, &p.Key.Program, &p.Key.OrderSn, &p.SubID, (*dayColumn)(&p.Day), &p.Status, &p.Count, &amount, total, sum)
		p.StatusName, p.Amount = statusName(p.Status), schema.MoneyFromCents(amount)
		return p, err
	}
}

// Month is a month of the ledger.
type Month struct {
	Month   string   // YYYY-MM
	Closed  bool     // as in [Statement]
	Closing *Closing // as in [Statement]
}

const (
	selectMonths   = "SELECT month FROM ledger_balances UNION SELECT month FROM ledger_months ORDER BY month DESC"
	selectClosings = "SELECT month, closed_at, transactions, digest FROM ledger_months"
)

// Months returns the months of the ledger that hold anything or were closed by
// themselves, the newest first. The error is a [*StoreError].
func (r *Reader) Months(ctx context.Context) ([]Month, error) {
	closings, last := map[string]*Closing{}, ""
	_, err := collect(ctx, r.db, func(rows *sql.Rows) (c Closing, err error) {
		var at string
		if err := rows.Scan(&c.Month, &at, &c.Transactions, &c.Digest); err != nil {
			return c, err
		}
		c.ClosedAt, err = parseStamp(at)
		closings[c.Month], last = &c, max(last, c.Month)
		return c, err
	}, selectClosings)
	if err != nil {
		return nil, r.fail("months", err)
	}
	months, err := collect(ctx, r.db, func(rows *sql.Rows) (m Month, err error) {
		err = rows.Scan(&m.Month)
		m.Closed, m.Closing = strings.Compare(m.Month, last) <= 0, closings[m.Month]
		return m, err
	}, selectMonths)
	return months, r.fail("months", err)
}
