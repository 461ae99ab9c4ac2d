package commission

import (
	"cmp"
	"context"
	"database/sql"
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
	query, args, err := q.statement(r.text)
	if err != nil {
		return nil, err
	}
	earned, err := collect(ctx, r.db, scanEarned(q.Group), r.rebind(query), args...)
	slices.SortFunc(earned, func(a, b Earned) int {
		return cmp.Or(slices.Compare(a.Group, b.Group), strings.Compare(a.Currency, b.Currency))
	})
	return earned, r.fail("earnings", err)
}

// statement adds up in two steps: what is there by numbers alone, then the few
// rows of that by their texts.
func (q *Query) statement(text func(string) string) (string, []any, error) {
	kind, known := map[string]int64{"": byOrderDay, ByOrder: byOrderDay, BySettlement: bySettlementDay, ByPosting: byPostingDay}[q.By]
	if !known {
		return "", nil, &FilterError{Field: "day", Problem: "cannot be " + q.By + "; write order, settlement or posting"}
	}
	var columns []string
	numbers := []string{"currency"}
	for _, g := range q.Group {
		chosen, known := groupings[g]
		if !known {
			return "", nil, &FilterError{Field: "by", Problem: "cannot be " + g + "; write some of " + strings.Join(Groupings(), ", ")}
		}
		columns = append(columns, chosen.text)
		switch {
		case slices.Contains(numbers, chosen.number):
		case chosen.number == "dimension_id": // first, for what sorts the rows: few are alike in it
			numbers = slices.Insert(numbers, 0, chosen.number)
		default:
			numbers = append(numbers, chosen.number)
		}
	}
	level := q.level()
	where, args, err := q.where(text, level)
	if err != nil {
		return "", nil, err
	}
	key := strings.Join(append(columns, "c.text"), ", ")
	// Materialized, or PostgreSQL may add up anew for each text while it knows little
	// about the tables.
	query := "WITH s AS MATERIALIZED (" + inNumbers(kind, level, strings.Join(numbers, ", "), where) + ") SELECT " + key +
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

// inNumbers adds up the sums of a level, or the orders where no sums are kept.
func inNumbers(kind, level int64, key, where string) string {
	const amounts = "CAST(SUM(order_amount) AS BIGINT) AS order_amount, CAST(SUM(commission) AS BIGINT) AS commission FROM "
	if level != inFull || kind == byPostingDay {
		return "SELECT " + key + ", CAST(SUM(orders) AS BIGINT) AS orders, " + amounts +
			"commission_totals WHERE kind = " + strconv.FormatInt(kind+3*level, 10) + where + " GROUP BY " + unnamed(key)
	}
	if kind == bySettlementDay {
		where = " AND charge_day <> 0" + strings.ReplaceAll(where, " day ", " charge_day ")
		key = strings.Replace(strings.Replace(key, "day / 100", "charge_day / 100", 1), ", day", ", charge_day AS day", 1)
	}
	where = strings.Replace(where, " AND ", " WHERE ", 1)
	return "SELECT " + key + ", COUNT(*) AS orders, " + amounts + "commission_states" + where + " GROUP BY " + unnamed(key)
}

// unnamed takes the names from expressions, for GROUP BY.
func unnamed(key string) string {
	return strings.NewReplacer(" AS day", "", " AS month", "").Replace(key)
}

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
