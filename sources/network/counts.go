package network

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// minute is the time that a row of order_counts stands for, in seconds.
const minute = 60

// countKey is a row of order_counts.
type countKey struct {
	publisher int64
	column    string // the time, see timeColumns
	minute    int64  // Unix seconds / 60
}

// counts are what a change adds to order_counts.
type counts map[countKey]int64

// move counts the order at its present times and no longer at those of before.
func (n counts) move(o *order) {
	now := o.times()
	n.add(o.publisher, "updated_at", o.counted.updated, now.updated)
	n.add(o.publisher, "order_time", o.counted.placed, now.placed)
	n.add(o.publisher, "charge_time", o.counted.charged, now.charged)
	o.counted = now
}

func (n counts) add(publisher int64, column string, from, to int64) {
	if from == to {
		return
	}
	if from != 0 {
		n[countKey{publisher, column, from / minute}]--
	}
	if to != 0 {
		n[countKey{publisher, column, to / minute}]++
	}
}

// countSizes are how many counts a statement writes, so that there are few
// statements.
var countSizes = []int{64, 8, 1}

// saveCounts writes the counts of the change, in the order of their key.
func (c *change) saveCounts(ctx context.Context) error {
	keys := make([]countKey, 0, len(c.counts))
	for key, n := range c.counts {
		if n != 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b countKey) int {
		return cmp.Or(cmp.Compare(a.publisher, b.publisher), cmp.Compare(a.column, b.column), cmp.Compare(a.minute, b.minute))
	})
	for _, size := range countSizes {
		for ; len(keys) >= size; keys = keys[size:] {
			if err := c.exec(ctx, countStatement(size), c.countRows(keys[:size])...); err != nil {
				return fmt.Errorf("counts: %w", err)
			}
		}
	}
	clear(c.counts)
	return nil
}

func (c *change) countRows(keys []countKey) []any {
	args := make([]any, 0, 4*len(keys))
	for _, key := range keys {
		args = append(args, key.publisher, key.column, key.minute, c.counts[key])
	}
	return args
}

func countStatement(rows int) string {
	return `INSERT INTO order_counts (publisher_id, field, minute, orders) VALUES (?, ?, ?, ?)` +
		strings.Repeat(`, (?, ?, ?, ?)`, rows-1) +
		` ON CONFLICT (publisher_id, field, minute) DO UPDATE SET orders = order_counts.orders + excluded.orders`
}
