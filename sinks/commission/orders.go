package commission

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// OrderFilter chooses orders. An empty field chooses all.
type OrderFilter struct {
	Filter
	// OrderSn is the order number, or a part of it.
	OrderSn string
	// Limit is the most orders to return, 0 means 50; Offset is how many to pass
	// over before.
	Limit, Offset int
}

// Order is an order as the books hold it: its state after its newest event.
type Order struct {
	Key         schema.OrderKey
	Version     uint64 // of the newest event
	Sequence    uint64 // of that in the log
	ObservedAt  string // when the network answered so, UTC, RFC 3339
	Vanished    bool   // the network no longer knows the order
	ProgramName string
	WebsiteID   string
	SubID       string
	Day         string // of placement, as in [Sum]
	Status      string // as in [Sum]
	StatusName  string // as in [Sum]
	Currency    string
	OrderAmount schema.Money // in Currency
	Commission  schema.Money // that counts today, in Currency
}

// fewOrders is how many orders an answer has by default.
const fewOrders = 50

const foundColumns = "account, program_id, order_sn, version, sequence, observed_at, vanished, program_name, website_id, sub_id, " +
	"day, status, currency, order_amount, commission"

// Orders returns a page of the orders that f chooses, those that changed last
// first, and how many it chooses in all. The error is a [*FilterError] or a
// [*StoreError].
func (r *Reader) Orders(ctx context.Context, f OrderFilter) (orders []Order, total int64, err error) {
	where, args, err := f.conditions(r.text)
	if err != nil {
		return nil, 0, err
	}
	if f.Limit <= 0 {
		f.Limit = fewOrders
	}
	if err := r.db.QueryRowContext(ctx, r.rebind("SELECT COUNT(*) FROM commission_orders"+where), args...).Scan(&total); err != nil {
		return nil, 0, r.fail("count orders", err)
	}
	query := "SELECT " + foundColumns + " FROM commission_orders" + where + " ORDER BY sequence DESC, account, program_id, order_sn LIMIT ? OFFSET ?"
	orders, err = collect(ctx, r.db, scanOrder, r.rebind(query), append(args, int64(f.Limit), int64(max(f.Offset, 0)))...)
	return orders, total, r.fail("search orders", err)
}

// conditions returns the condition, with its leading WHERE, and its arguments, as
// the books store texts.
func (f *OrderFilter) conditions(text func(string) string) (string, []any, error) {
	if err := errors.Join(checkDay("from", f.From), checkDay("to", f.To)); err != nil {
		return "", nil, err
	}
	part := ""
	if f.OrderSn != "" {
		part = "%" + likely.Replace(f.OrderSn) + "%"
	}
	var all []string
	var args []any
	for _, c := range []struct{ condition, value string }{
		{"account = ?", f.Account}, {"program_id = ?", f.ProgramID}, {"website_id = ?", f.WebsiteID},
		{"sub_id = ?", f.SubID}, {"currency = ?", f.Currency}, {"status = ?", statusValue(f.Status)},
		{"day >= ?", f.From}, {"day <> '' AND day <= ?", f.To}, {`order_sn LIKE ? ESCAPE '\'`, part},
	} {
		if c.value != "" {
			all, args = append(all, c.condition), append(args, text(storable(c.value)))
		}
	}
	if all == nil {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(all, " AND "), args, nil
}

// storable makes a text that a person has typed fit for a database that wants
// UTF-8 without NUL.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// likely takes from a text what LIKE acts on.
var likely = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

func scanOrder(rows *sql.Rows) (Order, error) {
	var o Order
	var version, sequence, vanished, amount, commission int64
	err := rows.Scan(&o.Key.Account, &o.Key.Program, &o.Key.OrderSn, &version, &sequence, &o.ObservedAt, &vanished, &o.ProgramName,
		&o.WebsiteID, &o.SubID, &o.Day, &o.Status, &o.Currency, &amount, &commission)
	o.Version, o.Sequence, o.Vanished = uint64(version), uint64(sequence), vanished != 0
	o.StatusName = statusName(o.Status)
	o.OrderAmount, o.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
	return o, err
}
