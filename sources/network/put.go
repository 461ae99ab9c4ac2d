package network

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// put writes a state of an order, the line of its history and, when the
// confirmed amounts are others, the settlement change. Every change of an order,
// reported or simulated, goes through it, and it gives the order its number, its times and
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
	c.statistics.move(c.days, o)
	price, commission, _, _ := o.charge.values()
	c.pending.history.add(
		o.seq, o.id, o.updated, reason, int64(o.status), int64(o.price), int64(o.commission),
		price, commission, lineStates(lines))
	c.settlement(o)
	return c.push(ctx, o)
}

// settlement keeps what the change has done to the confirmed amounts. Amounts
// that come into being or go count as changed even when they are zero.
func (c *change) settlement(o *order) {
	before, after := o.settled, o.charge
	o.settled = after
	if before.price == after.price && before.commission == after.commission && (before.at == 0) == (after.at == 0) {
		return
	}
	c.pending.settlements.add(o.seq, o.id, o.publisher, o.updated, int64(before.price), int64(after.price),
		int64(before.commission), int64(after.commission), cmp.Or(after.currency, before.currency))
}

func (c *change) insert(o *order) {
	price, commission, currency, at := o.charge.values()
	c.pending.orders.add(
		o.id, o.publisher, o.program, o.programName, o.website, o.link, o.subID, o.sn,
		o.parentSn, o.placed, int64(o.price), int64(o.commission), o.currency, int64(o.status), price,
		commission, currency, at, o.created, o.updated, o.seq, o.details,
		o.click, o.promo, o.newCustomer, int64(o.confirmed), o.clicks, o.head())
}

// update writes what may change in the life of an order.
func (c *change) update(ctx context.Context, o *order) error {
	if len(c.pending.orders.values) > 0 {
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	price, commission, currency, at := o.charge.values()
	return c.exec(ctx, `UPDATE orders SET order_time = ?, orders_cents = ?, commission_cents = ?, status = ?, confirm_cents = ?,
		confirm_commission_cents = ?, charge_currency = ?, charge_time = ?, updated_at = ?, seq = ?, details = ?,
		promo_code = ?, new_customer = ?, confirmed_cents = ?, head = ? WHERE id = ?`,
		o.placed, int64(o.price), int64(o.commission), int64(o.status), price,
		commission, currency, at, o.updated, o.seq, o.details, o.promo, o.newCustomer, int64(o.confirmed), o.head(), o.id)
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

// reported reads the order with a number in a program, nil when there is none.
func (c *change) reported(ctx context.Context, program, sn string) (*order, error) {
	var id int64
	known, err := c.found(ctx, `SELECT id FROM orders WHERE program_id = ? AND order_sn = ?`, []any{program, sn}, &id)
	if !known || err != nil {
		return nil, err
	}
	o, err := c.order(ctx, id)
	return &o, err
}

func lineStates(lines []schema.OrderLine) string {
	states := make([]string, len(lines))
	for i := range lines {
		states[i] = lines[i].LbOrderStatus.String()
	}
	return strings.Join(states, ",")
}
