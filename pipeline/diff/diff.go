// Package diff turns two snapshots of an order into the event that leads from
// one to the other. It is pure: no clock, no I/O, the same answer every time.
//
// What counts as a change is the value, not how the network wrote it: 12.5
// equals "12.50", an absent text equals an empty one, and lines that merely
// stand in another order are the same lines. A snapshot without a list of lines
// (nil, not empty) says nothing about the lines: they stay as they were.
package diff

import (
	"github.com/orderwire/orderwire/schema"
)

// Next returns the event that leads from prev, the order's last event, to the
// snapshot next, of which account, time zone, observation time and order are
// used. prev is nil for an order that the log does not know. It returns false
// when nothing changed, and also when next was observed before prev: an old
// answer that comes late must not undo a newer one.
func Next(prev *schema.Event, next schema.Data) (schema.Event, bool) {
	if prev == nil {
		next.Version = 1
		next.Changes, next.Regression = nil, false
		return schema.NewEvent(schema.OrderCreated, next), true
	}
	if next.ObservedAt.Before(prev.Data.ObservedAt) {
		return schema.Event{}, false
	}
	if next.Order.Details == nil {
		next.Order.Details = prev.Data.Order.Details
	}
	c := compare(&prev.Data.Order, &next.Order)
	returned := prev.Type == schema.OrderVanished
	if len(c.changes) == 0 && !returned {
		return schema.Event{}, false
	}
	next.Version = prev.Data.Version + 1
	next.Changes, next.Regression = c.changes, c.regression
	t := schema.OrderUpdated
	if c.status {
		t = schema.StatusChanged
	}
	return schema.NewEvent(t, next), true
}

// Vanished returns the event that says that the network no longer knows the
// order of prev: seen holds when, and in which time zone. It returns false
// when prev already says so, or is newer.
func Vanished(prev *schema.Event, seen schema.Data) (schema.Event, bool) {
	if prev == nil || prev.Type == schema.OrderVanished || seen.ObservedAt.Before(prev.Data.ObservedAt) {
		return schema.Event{}, false
	}
	return schema.NewEvent(schema.OrderVanished, schema.Data{
		Account: prev.Data.Account, TimeZone: seen.TimeZone, ObservedAt: seen.ObservedAt,
		Version: prev.Data.Version + 1, Order: prev.Data.Order,
	}), true
}

// comparison collects the differences between two orders.
type comparison struct {
	changes    []schema.Change
	status     bool // a settlement or line status differs
	regression bool // one of them went backwards
}

func compare(a, b *schema.Order) comparison {
	var c comparison
	for _, f := range orderTexts {
		c.text("/"+f.name, *f.get(a), *f.get(b))
	}
	for _, f := range orderAmounts {
		c.money("/"+f.name, *f.get(a), *f.get(b))
	}
	c.settlement(a, b)
	c.extra("", a.Extra, b.Extra)
	c.lines(a.Details, b.Details)
	return c
}

func (c *comparison) add(path string, from, to []byte) {
	c.changes = append(c.changes, schema.Change{Path: path, From: from, To: to})
}

func (c *comparison) text(path string, a, b schema.Text) bool {
	if a.String() == b.String() {
		return false
	}
	c.add(path, scalar(a), scalar(b))
	return true
}

func (c *comparison) money(path string, a, b schema.Money) {
	if !a.Equal(b) {
		c.add(path, scalar(a), scalar(b))
	}
}

func (c *comparison) settlement(a, b *schema.Order) {
	if !c.text("/Status", a.Status, b.Status) {
		return
	}
	c.status = true
	from, errFrom := a.Settlement()
	to, errTo := b.Settlement()
	if errFrom == nil && errTo == nil && from.Regresses(to) {
		c.regression = true
	}
}

func (c *comparison) lineStatus(a, b schema.Text) {
	if a.String() == b.String() {
		return
	}
	c.status = true
	from, errFrom := schema.ParseLineStatus(a.String())
	to, errTo := schema.ParseLineStatus(b.String())
	if errFrom == nil && errTo == nil && from.Regresses(to) {
		c.regression = true
	}
}

// scalar encodes a text or an amount, nil when it is absent.
func scalar(v interface {
	IsZero() bool
	MarshalJSON() ([]byte, error)
}) []byte {
	if v.IsZero() {
		return nil
	}
	b, err := v.MarshalJSON()
	if err != nil { // only for invalid UTF-8, which no decoder lets in
		return nil
	}
	return b
}
