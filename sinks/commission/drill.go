package commission

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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

// drillSort is what orders are sorted by, and the table beside theirs that has it.
type drillSort struct{ expression, join string }

const (
	joinDimensions = " JOIN commission_dimensions d ON d.id = o.dimension_id"
	joinStatus     = " JOIN commission_texts s ON s.id = o.status"
	joinCurrency   = " JOIN commission_texts c ON c.id = o.currency"
)

// drillSorts are what orders can be sorted by, with the names of selectFound.
var drillSorts = map[string]drillSort{
	"": {"o.sequence DESC", ""}, "order": {"o.order_sn", ""}, "day": {"o.day", ""}, "events": {"o.version", ""},
	"order_amount": {"o.order_amount", ""}, "commission": {"o.commission", ""},
	"account": {"d.account", joinDimensions}, "program": {"d.program_id", joinDimensions}, "sub_id": {"d.sub_id", joinDimensions},
	"status": {"s.text", joinStatus}, "currency": {"c.text", joinCurrency},
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

// Drill returns a page of the orders that d chooses. The error is a
// [*FilterError] or a [*StoreError].
func (r *Reader) Drill(ctx context.Context, d Drill) (*Drilled, error) {
	where, args, err := d.conditions(func(s string) string { return r.text(storable(s)) })
	if err != nil {
		return nil, err
	}
	by, known := drillSorts[d.Sort]
	if !known {
		return nil, &FilterError{Field: "sort", Problem: "cannot be " + d.Sort + "; write one of " + strings.Join(DrillSorts(), ", ")}
	}
	if d.Descending && d.Sort != "" {
		by.expression += " DESC"
	}
	found := &Drilled{}
	group, ctx := errgroup.WithContext(ctx) // both look through all orders
	group.Go(func() error { return r.fail("count orders", r.total(ctx, found, d.Sums, where, args)) })
	query := "WITH f AS (SELECT o.id FROM commission_states o" + by.join + where + " ORDER BY " + by.expression + ", o.id LIMIT ? OFFSET ?)" +
		selectFound + by.expression + ", o.id"
	limit := cmp.Or(max(d.Limit, 0), fewOrders)
	group.Go(func() (err error) {
		found.Orders, err = collect(ctx, r.db, scanOrder, r.rebind(query), slices.Concat(args, []any{int64(limit), int64(max(d.Offset, 0))})...)
		return r.fail("search orders", err)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return found, nil
}

// total counts the orders, and adds them up when sums are asked for.
func (r *Reader) total(ctx context.Context, found *Drilled, sums bool, where string, args []any) (err error) {
	if !sums {
		return r.db.QueryRowContext(ctx, r.rebind("SELECT COUNT(*) FROM commission_states o"+where), args...).Scan(&found.Total)
	}
	query := "WITH f AS MATERIALIZED (SELECT currency, COUNT(*) AS orders, " + // not anew for each text
		"CAST(SUM(order_amount) AS BIGINT) AS order_amount, CAST(SUM(commission) AS BIGINT) AS commission FROM commission_states o" + where +
		" GROUP BY currency) SELECT c.text, o.orders, o.order_amount, o.commission FROM f o" + joinCurrency
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

// conditions returns the condition on commission_states, named o, with its leading
// WHERE, and its arguments.
func (d *Drill) conditions(text func(string) string) (string, []any, error) {
	day := "o.day"
	switch d.By {
	case "", ByOrder:
	case BySettlement:
		day = "o.charge_day"
	default:
		return "", nil, &FilterError{Field: "by", Problem: "cannot be " + d.By + "; write order or settlement"}
	}
	if err := errors.Join(checkDay("from", d.From), checkDay("to", d.To)); err != nil {
		return "", nil, err
	}
	dimensions, args := dimensionWhere(text, &d.Filter, d.LinkID)
	all, ofDimension, err := d.fixed()
	if err != nil {
		return "", nil, err
	}
	if dimensions != "" {
		ofDimension = append(ofDimension, dimensions)
	}
	if len(ofDimension) > 0 {
		all = slices.Insert(all, 0, "o.dimension_id IN (SELECT id FROM commission_dimensions WHERE "+strings.Join(ofDimension, " AND ")+")")
	}
	add := func(condition string, value any) { all, args = append(all, condition), append(args, value) }
	for _, c := range []struct{ column, value string }{
		{"o.currency", d.Currency}, {"o.estimated_currency", d.EstimatedCurrency}, {"o.status", statusValue(d.Status)},
	} {
		if c.value != "" {
			add(c.column+" = (SELECT id FROM commission_texts WHERE text = ?)", text(c.value))
		}
	}
	if d.From != "" {
		add(day+" >= ?", dayOf(d.From))
	}
	if d.To != "" {
		add(day+" > 0 AND "+day+" <= ?", dayOf(d.To))
	}
	if d.OrderSn != "" {
		add(`o.order_sn LIKE ? ESCAPE '\'`, text("%"+likely.Replace(d.OrderSn)+"%"))
	}
	if all == nil {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(all, " AND "), args, nil
}

// fixed returns the conditions that take no value: those on the order, and those on
// its dimension.
func (d *Drill) fixed() (ofOrder, ofDimension []string, err error) {
	const texts = "(SELECT id FROM commission_texts WHERE text "
	switch d.Outcome {
	case "":
	case OutcomeSettled:
		ofOrder = append(ofOrder, "o.status IN "+texts+"IN ('1', '2'))")
	case OutcomeLost:
		ofOrder = append(ofOrder, "o.status IN "+texts+"NOT IN ('0', '1', '2'))")
	default:
		return nil, nil, &FilterError{Field: "outcome", Problem: "cannot be " + d.Outcome + "; write settled or lost"}
	}
	for i, name := range slices.Concat(d.Without, d.With) {
		is := "<> "
		if i < len(d.Without) {
			is = "= "
		}
		switch name {
		case "day", "charge_day":
			ofOrder = append(ofOrder, "o."+name+" "+is+"0")
		case "currency", "estimated_currency", "status":
			ofOrder = append(ofOrder, "o."+name+" IN "+texts+is+"'')")
		case "link_id", "program_id", "sub_id", "website_id":
			ofDimension = append(ofDimension, name+" "+is+"''")
		default:
			return nil, nil, &FilterError{Field: "without", Problem: "cannot be " + name + "; write some of " + strings.Join(DrillFields(), ", ")}
		}
	}
	return ofOrder, ofDimension, nil
}
