package commission

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Ages are the buckets of [Reader.Ageing], by days since the order. "unknown" is
// for orders whose day cannot be read.
var Ages = []string{"0-30", "31-60", "61-90", "over 90", "unknown"}

// Aged is the pending commission of one age.
type Aged struct {
	Account     string       `json:"account"`
	ProgramID   string       `json:"program_id"`
	Currency    string       `json:"currency"`
	Age         string       `json:"age"` // one of [Ages]
	Orders      int64        `json:"orders"`
	OrderAmount schema.Money `json:"order_amount"`
	Commission  schema.Money `json:"commission"`
}

// Ageing returns the pending orders that f chooses by their age on a day,
// YYYY-MM-DD, sorted by account, program, currency and age. The filter's status
// is not used. The error is a [*FilterError] or a [*StoreError].
func (r *Reader) Ageing(ctx context.Context, f Filter, today string) ([]Aged, error) {
	if err := checkDay("today", cmp.Or(today, "none")); err != nil {
		return nil, err
	}
	f.Status = schema.Pending.Value()
	pending, err := r.Earnings(ctx, Query{Filter: f, Group: []string{"account", "program", "day"}})
	if err != nil {
		return nil, err
	}
	type amounts struct{ orders, amount, commission int64 }
	type key struct {
		account, program, currency string
		age                        int
	}
	found := map[key]amounts{}
	for i := range pending {
		e := &pending[i]
		k := key{e.Group[0], e.Group[1], e.Currency, ageOf(e.Group[2], today)}
		a := found[k]
		found[k] = amounts{a.orders + e.Orders, a.amount + hundredths(e.OrderAmount), a.commission + hundredths(e.Commission)}
	}
	aged := make([]Aged, 0, len(found))
	for k, a := range found {
		aged = append(aged, Aged{k.account, k.program, k.currency, Ages[k.age], a.orders, schema.MoneyFromCents(a.amount), schema.MoneyFromCents(a.commission)})
	}
	slices.SortFunc(aged, func(a, b Aged) int {
		return cmp.Or(slices.Compare([]string{a.Account, a.ProgramID, a.Currency}, []string{b.Account, b.ProgramID, b.Currency}),
			cmp.Compare(slices.Index(Ages, a.Age), slices.Index(Ages, b.Age)))
	})
	return aged, nil
}

// hundredths reads a sum, which may exceed the decimal(10,2) of an order.
func hundredths(m schema.Money) int64 { return m.Decimal().Shift(schema.MoneyScale).IntPart() }

func ageOf(day, today string) int {
	days, ok := daysBetween(day, today)
	switch {
	case !ok:
		return 4
	case days <= 30:
		return 0
	case days <= 60:
		return 1
	case days <= 90:
		return 2
	default:
		return 3
	}
}

// Overdue is a pending order that is older than nine of ten approved orders of
// its program were when they were approved.
type Overdue struct {
	Account    string       `json:"account"`
	ProgramID  string       `json:"program_id"`
	OrderSn    string       `json:"order_sn"`
	SubID      string       `json:"sub_id"`
	Day        string       `json:"day"`         // of the order
	Days       int64        `json:"days"`        // since then
	UsualDays  int64        `json:"usual_days"`  // p90 of the program
	Currency   string       `json:"currency"`    // of the estimate
	Commission schema.Money `json:"commission"`  // estimated
	Observed   string       `json:"observed_at"` // when the network last answered with a change, UTC
}

// enoughApproved is how many approved orders make a program's time usual.
const enoughApproved = 20

const selectOverdue = `
SELECT d.account, d.program_id, o.order_sn, d.sub_id, o.day, c.text, o.commission, o.observed_at
FROM commission_states o JOIN commission_dimensions d ON d.id = o.dimension_id JOIN commission_texts c ON c.id = o.currency
WHERE o.status = (SELECT id FROM commission_texts WHERE text = '0') AND o.vanished = 0 AND o.day > 0 AND o.day < ?`

// Overdue returns the pending orders of accounts and programs that f chooses
// (its other fields are not used) which are overdue on a day, YYYY-MM-DD: the
// oldest first, of programs with at least 20 approved orders. The error is a
// [*FilterError] or a [*StoreError].
func (r *Reader) Overdue(ctx context.Context, f Filter, today string) ([]Overdue, error) {
	now, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return nil, checkDay("today", cmp.Or(today, "none"))
	}
	programs, err := r.approvals(ctx)
	if err != nil {
		return nil, r.fail("overdue", err)
	}
	usual, least := map[program]int64{}, int64(-1)
	for p, days := range programs {
		if days.orders < enoughApproved || f.Account != "" && f.Account != p.account || f.ProgramID != "" && f.ProgramID != p.program {
			continue
		}
		usual[p] = days.percentile(90)
		if least < 0 || usual[p] < least {
			least = usual[p]
		}
	}
	if least < 0 {
		return []Overdue{}, nil
	}
	all, err := collect(ctx, r.db, scanOverdue(today), r.rebind(selectOverdue), dayNumber(now.AddDate(0, 0, -int(least)).Date()))
	if err != nil {
		return nil, r.fail("overdue", err)
	}
	all = slices.DeleteFunc(all, func(o Overdue) bool {
		days, known := usual[program{o.Account, o.ProgramID}]
		return !known || o.Days <= days
	})
	for i := range all {
		all[i].UsualDays = usual[program{all[i].Account, all[i].ProgramID}]
	}
	slices.SortFunc(all, func(a, b Overdue) int {
		return slices.Compare([]string{a.Day, a.Account, a.ProgramID, a.OrderSn}, []string{b.Day, b.Account, b.ProgramID, b.OrderSn})
	})
	return all, nil
}

func scanOverdue(today string) func(*sql.Rows) (Overdue, error) {
	return func(rows *sql.Rows) (Overdue, error) {
		var o Overdue
		var commission int64
		err := rows.Scan(&o.Account, &o.ProgramID, &o.OrderSn, &o.SubID, (*dayColumn)(&o.Day), &o.Currency, &commission, &o.Observed)
		o.Commission = schema.MoneyFromCents(commission)
		o.Days, _ = daysBetween(o.Day, today)
		return o, err
	}
}
