package commission

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// Outcomes are what a [Drill] can ask for beside a single status.
const (
	OutcomeSettled = "settled" // confirmed or approved, as [Reader.EstimatedAndConfirmed] counts
	OutcomeLost    = "lost"    // what earns nothing, as [Reader.Reversals] counts
)

// Drill chooses the orders behind a sum. What is empty chooses all.
type Drill struct {
	OrderFilter
	LinkID            string
	EstimatedCurrency string // in which the network estimated
	// By says which day From and To mean: ByOrder (also "") or BySettlement.
	By string
	// Outcome is one of the Outcome… constants.
	Outcome string
	// Without and With name fields of [DrillFields] that have to be empty, or must
	// not be: a sum may be that of the orders without a sub id.
	Without, With []string
	// Sort is one of [DrillSorts], "" for those that changed last first.
	Sort       string
	Descending bool
	// Sums asks for those of all orders that are chosen.
	Sums bool
}

// DrillFields are the fields that may be asked to be empty, sorted.
func DrillFields() []string {
	return []string{"charge_day", "currency", "day", "estimated_currency", "link_id", "program_id", "status", "sub_id", "website_id"}
}

// drillSorts are what orders can be sorted by.
var drillSorts = map[string]string{
	"order": "order_sn", "account": "account", "program": "program_id", "sub_id": "sub_id", "day": "day", "status": "status",
	"order_amount": "order_amount", "commission": "commission", "currency": "currency", "events": "version",
}

// DrillSorts returns what orders can be sorted by, sorted.
func DrillSorts() []string {
	return []string{"account", "commission", "currency", "day", "events", "order", "order_amount", "program", "status", "sub_id"}
}

// Drilled are a page of the orders behind a sum.
type Drilled struct {
	Orders []Order
	Total  int64   // of all pages
	Sums   []Total // by currency, without a status, of all pages; nil unless asked for
}

const drilledColumns = "account, program_id, order_sn, version, sequence, observed_at, vanished, program_name, website_id, sub_id, " +
	"day, status, currency, order_amount, commission"

// Drill returns a page of the orders that d chooses. The error is a
// [*FilterError] or a [*StoreError].
func (r *Reader) Drill(ctx context.Context, d Drill) (*Drilled, error) {
	where, args, err := d.conditions(r.text)
	if err != nil {
		return nil, err
	}
	order, known := drillSorts[d.Sort]
	switch {
	case d.Sort == "":
		order = "sequence DESC"
	case !known:
		return nil, &FilterError{Field: "sort", Problem: "cannot be " + d.Sort + "; write one of " + strings.Join(DrillSorts(), ", ")}
	case d.Descending:
		order += " DESC"
	}
	found := &Drilled{}
	if err := r.total(ctx, found, d.Sums, where, args); err != nil {
		return nil, r.fail("count orders", err)
	}
	query := "SELECT " + drilledColumns + " FROM commission_orders" + where + " ORDER BY " + order + ", account, program_id, order_sn LIMIT ? OFFSET ?"
	limit := cmp.Or(max(d.Limit, 0), fewOrders)
	found.Orders, err = collect(ctx, r.db, scanDrilled, r.rebind(query), append(args, int64(limit), int64(max(d.Offset, 0)))...)
	return found, r.fail("search orders", err)
}

// total counts the orders, and adds them up when sums are asked for.
func (r *Reader) total(ctx context.Context, found *Drilled, sums bool, where string, args []any) (err error) {
	if !sums {
		return r.db.QueryRowContext(ctx, r.rebind("SELECT COUNT(*) FROM commission_orders"+where), args...).Scan(&found.Total)
	}
	query := "SELECT currency, COUNT(*), CAST(SUM(order_amount) AS BIGINT), CAST(SUM(commission) AS BIGINT) FROM commission_orders" + where + " GROUP BY currency"
	found.Sums, err = collect(ctx, r.db, func(rows *sql.Rows) (t Total, err error) {
		var amount, commission int64
		err = rows.Scan(&t.Currency, &t.Orders, &amount, &commission)
		t.OrderAmount, t.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
		return t, err
	}, r.rebind(query), args...)
	slices.SortFunc(found.Sums, func(a, b Total) int { return strings.Compare(a.Currency, b.Currency) })
	for i := range found.Sums {
		found.Total += found.Sums[i].Orders
	}
	return err
}

// conditions returns the condition, with its leading WHERE, and its arguments, as
// the books store texts.
func (d *Drill) conditions(text func(string) string) (string, []any, error) {
	day := "day"
	switch d.By {
	case "", ByOrder:
	case BySettlement:
		day = "charge_day"
	default:
		return "", nil, &FilterError{Field: "by", Problem: "cannot be " + d.By + "; write order or settlement"}
	}
	if err := errors.Join(checkDay("from", d.From), checkDay("to", d.To)); err != nil {
		return "", nil, err
	}
	all, err := d.fixed()
	if err != nil {
		return "", nil, err
	}
	part := ""
	if d.OrderSn != "" {
		part = "%" + likely.Replace(d.OrderSn) + "%"
	}
	var args []any
	for _, c := range []struct{ condition, value string }{
		{"account = ?", d.Account}, {"program_id = ?", d.ProgramID}, {"website_id = ?", d.WebsiteID}, {"sub_id = ?", d.SubID},
		{"link_id = ?", d.LinkID}, {"currency = ?", d.Currency}, {"estimated_currency = ?", d.EstimatedCurrency}, {"status = ?", statusValue(d.Status)},
		{day + " >= ?", d.From}, {day + " <> '' AND " + day + " <= ?", d.To}, {`order_sn LIKE ? ESCAPE '\'`, part},
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

func scanDrilled(rows *sql.Rows) (Order, error) {
	var o Order
	var version, sequence, vanished, amount, commission int64
	err := rows.Scan(&o.Key.Account, &o.Key.Program, &o.Key.OrderSn, &version, &sequence, &o.ObservedAt, &vanished, &o.ProgramName,
		&o.WebsiteID, &o.SubID, &o.Day, &o.Status, &o.Currency, &amount, &commission)
	o.Version, o.Sequence, o.Vanished = uint64(version), uint64(sequence), vanished != 0
	o.StatusName = statusName(o.Status)
	o.OrderAmount, o.Commission = schema.MoneyFromCents(amount), schema.MoneyFromCents(commission)
	return o, err
}

// fixed returns the conditions that take no value.
func (d *Drill) fixed() (all []string, err error) {
	switch d.Outcome {
	case "":
	case OutcomeSettled:
		all = append(all, "status IN ('1', '2')")
	case OutcomeLost:
		all = append(all, "status NOT IN ('0', '1', '2')")
	default:
		return nil, &FilterError{Field: "outcome", Problem: "cannot be " + d.Outcome + "; write settled or lost"}
	}
	for i, name := range slices.Concat(d.Without, d.With) {
		if !slices.Contains(DrillFields(), name) {
			return nil, &FilterError{Field: "without", Problem: "cannot be " + name + "; write some of " + strings.Join(DrillFields(), ", ")}
		}
		if i < len(d.Without) {
			all = append(all, name+" = ''")
		} else {
			all = append(all, name+" <> ''")
		}
	}
	return all, nil
}
