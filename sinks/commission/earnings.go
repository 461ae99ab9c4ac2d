package commission

import (
	"cmp"
	"context"
	"database/sql"
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

// groupings are the texts that [Earnings] can be grouped by.
var groupings = map[string]string{
	"day": "s.day", "month": "SUBSTR(s.day, 1, 7)", "account": "d.account", "program": "d.program_id",
	"website": "d.website_id", "sub_id": "d.sub_id", "link": "d.link_id", "status": "s.status",
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
	columns := make([]string, len(q.Group), len(q.Group)+1)
	for i, g := range q.Group {
		column, known := groupings[g]
		if !known {
			return nil, &FilterError{Field: "by", Problem: "cannot be " + g + "; write some of " + strings.Join(Groupings(), ", ")}
		}
		columns[i] = column
	}
	kind, known := map[string]int64{"": byOrderDay, ByOrder: byOrderDay, BySettlement: bySettlementDay, ByPosting: byPostingDay}[q.By]
	if !known {
		return nil, &FilterError{Field: "day", Problem: "cannot be " + q.By + "; write order, settlement or posting"}
	}
	where, args, err := q.where(r.text)
	if err != nil {
		return nil, err
	}
	if q.LinkID != "" {
		where, args = where+" AND d.link_id = ?", append(args, r.text(q.LinkID))
	}
	key := strings.Join(append(columns, "s.currency"), ", ")
	from := sumColumnsOf
	if !strings.Contains(key+where, "d.") {
		from = sumColumnsAlone
	}
	query := "SELECT " + key + from + strconv.FormatInt(kind+3*level(key+where), 10) + where + " GROUP BY " + key + somethingLeft
	earned, err := collect(ctx, r.db, scanEarned(len(q.Group)), r.rebind(query), args...)
	slices.SortFunc(earned, func(a, b Earned) int {
		return cmp.Or(slices.Compare(a.Group, b.Group), strings.Compare(a.Currency, b.Currency))
	})
	return earned, r.fail("earnings", err)
}

// level returns the coarsest level of sums that knows what a query asks for.
func level(query string) int64 {
	uses := func(column string) bool { return strings.Contains(query, "d."+column) }
	switch {
	case uses("website_id"), uses("link_id"), uses("sub_id") && uses("program_id"):
		return inFull
	case uses("sub_id"):
		return bySubID
	default:
		return byProgram
	}
}

const (
	threeSums = ", CAST(SUM(s.orders) AS BIGINT), CAST(SUM(s.order_amount) AS BIGINT), CAST(SUM(s.commission) AS BIGINT) "
	// What they are taken from: with the texts of the dimensions, and without.
	sumColumnsOf    = threeSums + "FROM commission_sums s JOIN commission_dimensions d ON d.id = s.dimension_id WHERE s.kind = "
	sumColumnsAlone = threeSums + "FROM commission_sums s WHERE s.kind = "
	// somethingLeft leaves out what has gone back to nothing.
	somethingLeft = " HAVING SUM(s.orders) <> 0 OR SUM(s.order_amount) <> 0 OR SUM(s.commission) <> 0"
)

func scanEarned(groups int) func(*sql.Rows) (Earned, error) {
	return func(rows *sql.Rows) (Earned, error) {
		e := Earned{Group: make([]string, groups)}
		var amount, commission int64
		to := make([]any, 0, groups+4)
		for i := range e.Group {
			to = append(to, &e.Group[i])
		}
		err := rows.Scan(append(to, &e.Currency, &e.Orders, &amount, &commission)...)
		e.OrderAmount, e.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
		return e, err
	}
}
