package network

import (
	"context"
	"fmt"
	"strings"
)

// bulkRows is how many rows one statement inserts. The rest goes one by one,
// so that there are two statements for a table.
const bulkRows = 32

// bulk gathers the rows that a change inserts into a table.
type bulk struct {
	table   string
	columns string
	width   int // number of columns
	values  []any
}

func newBulk(table, columns string) *bulk {
	return &bulk{table: table, columns: columns, width: strings.Count(columns, ",") + 1}
}

func (b *bulk) add(values ...any) { b.values = append(b.values, values...) }

func (b *bulk) statement(rows int) string {
	row := "(?" + strings.Repeat(", ?", b.width-1) + ")"
	return "INSERT INTO " + b.table + " (" + b.columns + ") VALUES " + row + strings.Repeat(", "+row, rows-1)
}

// write inserts the rows.
func (b *bulk) write(ctx context.Context, c *change) error {
	for _, rows := range []int{bulkRows, 1} {
		query := b.statement(rows)
		for size := rows * b.width; len(b.values) >= size; b.values = b.values[size:] {
			if err := c.exec(ctx, query, b.values[:size]...); err != nil {
				return fmt.Errorf("%s: %w", b.table, err)
			}
		}
	}
	b.values = nil
	return nil
}

// pending are the rows of a change that are not written yet. Who reads or
// updates one of these tables within the change calls [change.flush] before.
type pending struct{ orders, history, settlements, tracks *bulk }

func newPending() pending {
	return pending{
		orders: newBulk("orders", orderColumns+", head"),
		history: newBulk("order_history", `seq, order_id, at, reason, status, orders_cents, commission_cents,
			confirm_cents, confirm_commission_cents, line_states`),
		settlements: newBulk("settlement_changes", `seq, order_id, publisher_id, at, price_before, price,
			commission_before, commission, charge_currency`),
		tracks: newBulk("simulated_orders", "order_id, number, moves, due"),
	}
}

// full reports whether it is time to write.
func (p *pending) full() bool { return len(p.history.values) >= bulkRows*p.history.width }

// flush writes the pending rows, those that others refer to first.
func (c *change) flush(ctx context.Context) error {
	for _, b := range []*bulk{c.pending.orders, c.pending.history, c.pending.settlements, c.pending.tracks} {
		if len(b.values) == 0 {
			continue
		}
		if err := b.write(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
