package commission

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// Days by which orders are chosen and grouped.
const (
	ByOrder      = "order"      // day of the order, as the network wrote it; the default
	BySettlement = "settlement" // day of settlement, as the network wrote it
	ByPosting    = "posting"    // day of posting: what each day changed, less what it took back
)

// grouping is a text that [Earnings] can be grouped by: the number in the sums from
// which it comes, and its expression.
type grouping struct{ number, text string }

var groupings = map[string]grouping{
	"day": {"day", "s.day"}, "month": {"day / 100 AS month", "s.month"}, "status": {"status", "t.text"},
	"account": {"dimension_id", "d.account"}, "program": {"dimension_id", "d.program_id"},
	"website": {"dimension_id", "d.website_id"}, "sub_id": {"dimension_id", "d.sub_id"}, "link": {"dimension_id", "d.link_id"},
}

// Groupings returns what earnings can be grouped by, sorted.
func Groupings() []string {
	return []string{"account", "day", "link", "month", "program", "status", "sub_id", "website"}
}

// Query chooses what [Reader.Earnings] adds up.
type Query struct {
	Filter
	// LinkID chooses one link; empty: all.
	LinkID string
	// By is the day that From and To of the filter and the groups day and month
	// mean: ByOrder (also ""), BySettlement or ByPosting.
	By string
	// Group holds some of [Groupings]; none: one row a currency.
	Group []string
}

// Earned is one row of earnings: the orders of one currency that agree in all
// that they are grouped by.
type Earned struct {
	// Group holds the values in the order of Query.Group. A status is its value,
	// or the network's own text.
	Group       []string     `json:"group"`
	Currency    string       `json:"currency"`
	Orders      int64        `json:"orders"`
	OrderAmount schema.Money `json:"order_amount"`
	Commission  schema.Money `json:"commission"`
}

// Earnings returns the sums that q chooses, sorted by group and currency, byte
// by byte. The error is a [*FilterError] or a [*StoreError].
func (r *Reader) Earnings(ctx context.Context, q Query) ([]Earned, error) {
	kind, err := q.check()
	if err != nil {
		return nil, err
	}
	if level := q.level(); level != inFull {
		earned, err := r.earned(ctx, &q, kind, level)
		return earned, r.fail("earnings", err)
	}
	earned, err := r.earnedInFull(ctx, &q, kind)
	return earned, r.fail("earnings", err)
}

// check returns the kind of days that q means.
func (q *Query) check() (kind int64, err error) {
	kind, known := map[string]int64{"": byOrderDay, ByOrder: byOrderDay, BySettlement: bySettlementDay, ByPosting: byPostingDay}[q.By]
	if !known {
		return 0, &FilterError{Field: "day", Problem: "cannot be " + q.By + "; write order, settlement or posting"}
	}
	for _, g := range q.Group {
		if _, known := groupings[g]; !known {
			return 0, &FilterError{Field: "by", Problem: "cannot be " + g + "; write some of " + strings.Join(Groupings(), ", ")}
		}
	}
	return kind, errors.Join(checkDay("from", q.From), checkDay("to", q.To))
}

// earned reads the sums of a level.
func (r *Reader) earned(ctx context.Context, q *Query, kind, level int64) ([]Earned, error) {
	query, args, err := q.statement(r.text, kind, level)
	if err != nil {
		return nil, err
	}
	earned, err := collect(ctx, r.db, scanEarned(q.Group), r.rebind(query), args...)
	slices.SortFunc(earned, func(a, b Earned) int {
		return cmp.Or(slices.Compare(a.Group, b.Group), strings.Compare(a.Currency, b.Currency))
	})
	return earned, err
}

// earnedInFull adds up what no level knows.
func (r *Reader) earnedInFull(ctx context.Context, q *Query, kind int64) ([]Earned, error) {
	var columns []string
	of := make([]int, len(q.Group)) // a group may stand there twice
	for i, g := range q.Group {
		if of[i] = slices.Index(columns, g); of[i] < 0 {
			of[i], columns = len(columns), append(columns, g)
		}
	}
	columns = append(columns, "currency")
	c, err := r.full(ctx, q, kind, columns)
	if err != nil {
		return nil, err
	}
	all := c.results()
	earned, groups := make([]Earned, len(all)), make([]string, len(all)*len(of))
	for i := range all {
		v, e := &all[i], &earned[i]
		e.Group, groups = groups[:len(of):len(of)], groups[len(of):]
		for j, column := range of {
			e.Group[j] = c.text(v, column)
		}
		e.Currency, e.Orders = c.text(v, c.currency), v.orders
		e.OrderAmount, e.Commission = schema.MoneyFromCents(v.amount), schema.MoneyFromCents(v.commission)
	}
	return earned, nil
}

// statement adds up in two steps: the sums of a level by numbers alone, then the few
// rows of that by their texts.
func (q *Query) statement(text func(string) string, kind, level int64) (string, []any, error) {
	var columns []string
	numbers := []string{"currency"}
	for _, g := range q.Group {
		chosen := groupings[g]
		columns = append(columns, chosen.text)
		switch {
		case slices.Contains(numbers, chosen.number):
		case chosen.number == "dimension_id": // first, for what sorts the rows: few are alike in it
			numbers = slices.Insert(numbers, 0, chosen.number)
		default:
			numbers = append(numbers, chosen.number)
		}
	}
	where, args, err := q.where(text, level)
	if err != nil {
		return "", nil, err
	}
	key, number := strings.Join(append(columns, "c.text"), ", "), strings.Join(numbers, ", ")
	// Materialized, or PostgreSQL may add up anew for each text while it knows little
	// about the tables.
	query := "WITH s AS MATERIALIZED (SELECT " + number + ", CAST(SUM(orders) AS BIGINT) AS orders, " +
		"CAST(SUM(order_amount) AS BIGINT) AS order_amount, CAST(SUM(commission) AS BIGINT) AS commission FROM commission_totals WHERE kind = " +
		strconv.FormatInt(kind+3*level, 10) + where + " GROUP BY " + strings.Replace(number, " AS month", "", 1) + ") SELECT " + key +
		", CAST(SUM(s.orders) AS BIGINT), CAST(SUM(s.order_amount) AS BIGINT), CAST(SUM(s.commission) AS BIGINT) FROM s JOIN commission_texts c ON c.id = s.currency"
	if slices.Contains(numbers, "dimension_id") {
		query += " JOIN commission_dimensions d ON d.id = s.dimension_id"
	}
	if slices.Contains(numbers, "status") {
		query += " JOIN commission_texts t ON t.id = s.status"
	}
	return query + " GROUP BY " + key + somethingLeft, args, nil
}

// somethingLeft leaves out what has gone back to nothing.
const somethingLeft = " HAVING SUM(s.orders) <> 0 OR SUM(s.order_amount) <> 0 OR SUM(s.commission) <> 0"

// level returns the level of sums that knows what a query asks for.
func (q *Query) level() int64 {
	var used []int64
	for _, d := range []struct {
		level         int64
		group, filter string
	}{{byProgram, "program", q.ProgramID}, {bySubID, "sub_id", q.SubID}, {byWebsite, "website", q.WebsiteID}, {byLink, "link", q.LinkID}} {
		if d.filter != "" || slices.Contains(q.Group, d.group) {
			used = append(used, d.level)
		}
	}
	switch len(used) {
	case 0:
		return byProgram
	case 1:
		return used[0]
	default:
		return inFull
	}
}

func scanEarned(group []string) func(*sql.Rows) (Earned, error) {
	return func(rows *sql.Rows) (Earned, error) {
		e := Earned{Group: make([]string, len(group))}
		var amount, commission int64
		to := make([]any, 0, len(group)+4)
		for i, g := range group {
			if g == "day" || g == "month" {
				to = append(to, (*dayColumn)(&e.Group[i]))
			} else {
				to = append(to, &e.Group[i])
			}
		}
		err := rows.Scan(append(to, &e.Currency, &e.Orders, &amount, &commission)...)
		e.OrderAmount, e.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
		return e, err
	}
}

// dayColumn reads the number of a day, or of a month, as a text.
type dayColumn string

// Scan reads an int64.
func (d *dayColumn) Scan(from any) error {
	n, ok := from.(int64)
	switch {
	case !ok:
		return fmt.Errorf("a day is %T", from)
	case n < 1_000_000:
		*d = dayColumn(monthText(n * 100))
	default:
		*d = dayColumn(dayText(n))
	}
	return nil
}
