package commission

import (
	"cmp"
	"context"
	"strings"
)

// full adds up what no level of sums knows, several of program, website, sub id and
// link: by the days of orders the orders themselves, by day of posting its changes.
// The columns are as in [cells].
func (r *Reader) full(ctx context.Context, q *Query, kind int64, columns []string) (*cells, error) {
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, r.reading)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	c, err := newCells(ctx, tx, r.dialect, q, columns)
	if err != nil {
		return nil, err
	}
	if kind == byPostingDay {
		return c, r.addChanges(ctx, tx, q, c)
	}
	return c, r.addOrders(ctx, conn, c, r.chosenOrders(q, kind, c))
}

// chosenOrders are those of a query: the numbers that [cells.add] takes, but for the
// one order that each of them is, what stands behind FROM, and its arguments. Orders
// of dimensions that are not chosen may be among them.
type chosenOrders struct {
	columns, from string
	args          []any
}

func (r *Reader) chosenOrders(q *Query, kind int64, c *cells) chosenOrders {
	where, args := q.numbersWhere(r.text)
	if c.few {
		dimensions, few := q.dimensionsWhere(r.text, inFull)
		where, args = dimensions+where, append(few, args...)
	}
	day, status := "day", "status"
	if kind == bySettlementDay {
		day = "charge_day"
		where = " AND charge_day <> 0" + strings.ReplaceAll(where, " day ", " charge_day ")
	}
	if c.day < 0 && c.month < 0 {
		day = "0"
	}
	if c.status < 0 {
		status = "0"
	}
	return chosenOrders{
		columns: "dimension_id, " + day + ", currency, " + status + ", order_amount, commission",
		from:    r.rebind("commission_states" + strings.Replace(where, " AND ", " WHERE ", 1)), args: args,
	}
}

// only returns the number of the word that is chosen: 0 for all, -1 for none.
func (c *cells) only(text string) int64 {
	if text == "" {
		return 0
	}
	return cmp.Or(c.numbers[text], -1)
}
