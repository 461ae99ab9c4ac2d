package network

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// put writes a state of an order and the line of its history. Every change of
// an order goes through it, and it gives the order its number, its times and
// its place in the history. A new order has the id 0; at is when the state came
// about, in Unix seconds, and never goes back.
func (c *change) put(ctx context.Context, o *order, lines []schema.OrderLine, at int64, reason string) error {
	if err := o.setLines(lines); err != nil {
		return fmt.Errorf("order lines: %w", err)
	}
	if c.pending.full() {
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	c.counters.change++
	o.seq, o.updated = c.counters.change, max(at, o.updated)
	if o.id == 0 {
		c.counters.order++
		o.id, o.created = c.counters.order, cmp.Or(o.created, at)
		c.insert(o)
	} else if err := c.update(ctx, o); err != nil {
		return err
	}
	c.counts.move(o)
	price, commission, _, _ := o.charge.values()
	c.pending.history.add(
		o.seq, o.id, o.updated, reason, int64(o.status), int64(o.price), int64(o.commission),
		price, commission, lineStates(lines))
	return nil
}

func (c *change) insert(o *order) {
	price, commission, currency, at := o.charge.values()
	c.pending.orders.add(
		o.id, o.publisher, o.program, o.programName, o.website, o.link, o.subID, o.sn,
		o.parentSn, o.placed, int64(o.price), int64(o.commission), o.currency, int64(o.status), price,
		commission, currency, at, o.created, o.updated, o.seq, o.details, o.head())
}

// update writes what may change in the life of an order.
func (c *change) update(ctx context.Context, o *order) error {
	if len(c.pending.orders.values) > 0 {
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	price, commission, currency, at := o.charge.values()
	return c.exec(ctx, `UPDATE orders SET orders_cents = ?, commission_cents = ?, status = ?, confirm_cents = ?,
		confirm_commission_cents = ?, charge_currency = ?, charge_time = ?, updated_at = ?, seq = ?, details = ?, head = ?
		WHERE id = ?`,
		int64(o.price), int64(o.commission), int64(o.status), price,
		commission, currency, at, o.updated, o.seq, o.details, o.head(), o.id)
}

// order reads one order by its number.
func (c *change) order(ctx context.Context, id int64) (order, error) {
	if len(c.pending.orders.values) > 0 {
		if err := c.flush(ctx); err != nil {
			return order{}, err
		}
	}
	st, err := c.statement(ctx, `SELECT `+orderColumns+` FROM orders WHERE id = ?`)
	if err != nil {
		return order{}, err
	}
	return scanOrder(st.QueryRowContext(ctx, id).Scan)
}

func lineStates(lines []schema.OrderLine) string {
	states := make([]string, len(lines))
	for i := range lines {
		states[i] = lines[i].LbOrderStatus.String()
	}
	return strings.Join(states, ",")
}
