package commission

import (
	"context"
	"database/sql"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// OrderFilter chooses orders. An empty field chooses all.
type OrderFilter struct {
	Filter
	// OrderSn is the order number or, where there is no such order, a part of it.
	OrderSn string
	// Newest sorts by day of the order, the newest first, instead of by change.
	Newest bool
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

// selectFound completes the page whose numbers are in f.
const selectFound = `
SELECT d.account, d.program_id, o.order_sn, o.version, o.sequence, o.observed_at, o.vanished, n.text, d.website_id, d.sub_id,
	o.day, s.text, c.text, o.order_amount, o.commission
FROM f JOIN commission_states o ON o.id = f.id JOIN commission_dimensions d ON d.id = o.dimension_id
	JOIN commission_texts n ON n.id = o.program_name JOIN commission_texts s ON s.id = o.status JOIN commission_texts c ON c.id = o.currency
ORDER BY `

// Orders returns a page of the orders that f chooses, those that changed last
// first, and how many it chooses in all. The error is a [*FilterError] or a
// [*StoreError].
func (r *Reader) Orders(ctx context.Context, f OrderFilter) (orders []Order, total int64, err error) {
	if f.OrderSn != "" {
		if orders, total, err = r.orders(ctx, &f, "order_sn = ?", storable); err != nil || total > 0 {
			return orders, total, err
		}
	}
	return r.orders(ctx, &f, `order_sn LIKE ? ESCAPE '\'`, func(s string) string { return "%" + likely.Replace(storable(s)) + "%" })
}

// orders compares the number with what the filter says of it.
func (r *Reader) orders(ctx context.Context, f *OrderFilter, number string, value func(string) string) (orders []Order, total int64, err error) {
	q := Query{Filter: f.Filter}
	where, args, err := q.where(func(s string) string { return r.text(storable(s)) }, inFull)
	if err != nil {
		return nil, 0, err
	}
	if f.OrderSn != "" {
		where, args = where+" AND "+number, append(args, r.text(value(f.OrderSn)))
	}
	where = strings.Replace(where, " AND ", " WHERE ", 1)
	limit := f.Limit
	if limit <= 0 {
		limit = fewOrders
	}
	if err := r.db.QueryRowContext(ctx, r.rebind("SELECT COUNT(*) FROM commission_states"+where), args...).Scan(&total); err != nil {
		return nil, 0, r.fail("count orders", err)
	}
	by := "sequence DESC, id DESC"
	if f.Newest {
		by = "day DESC, id DESC"
	}
	query := "WITH f AS (SELECT id FROM commission_states" + where + " ORDER BY " + by + " LIMIT ? OFFSET ?)" +
		selectFound + "o." + strings.Replace(by, "id", "o.id", 1)
	orders, err = collect(ctx, r.db, scanOrder, r.rebind(query), append(args, int64(limit), int64(max(f.Offset, 0)))...)
	return orders, total, r.fail("search orders", err)
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
		&o.WebsiteID, &o.SubID, (*dayColumn)(&o.Day), &o.Status, &o.Currency, &amount, &commission)
	o.Version, o.Sequence, o.Vanished = uint64(version), uint64(sequence), vanished != 0
	o.StatusName = statusName(o.Status)
	o.OrderAmount, o.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
	return o, err
}
