package commission

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// program is a key of what is kept by program.
type program struct{ account, program string }

// approvalDays is how many approved orders took how many days.
type approvalDays struct {
	orders int64
	byDays map[int64]int64
}

// percentile returns the days after which p of 100 orders were approved: the
// smallest number that at least so many did not exceed.
func (a *approvalDays) percentile(p int64) int64 {
	days := make([]int64, 0, len(a.byDays))
	for d := range a.byDays {
		days = append(days, d)
	}
	slices.Sort(days)
	var seen int64
	for _, d := range days {
		if seen += a.byDays[d]; seen*100 >= p*a.orders {
			return d
		}
	}
	return 0
}

const (
	selectApprovals = "SELECT account, program_id, days, orders FROM commission_approvals WHERE orders > 0"
	selectSettled   = `
SELECT account, program_id, estimated_currency, confirmed_currency, orders, estimated_amount, estimated_commission, confirmed_amount, confirmed_commission
FROM commission_settled WHERE orders <> 0`
)

// approvals returns the approval times by program.
func (r *Reader) approvals(ctx context.Context) (map[program]*approvalDays, error) {
	all := map[program]*approvalDays{}
	_, err := collect(ctx, r.db, func(rows *sql.Rows) (p program, err error) {
		var days, orders int64
		err = rows.Scan(&p.account, &p.program, &days, &orders)
		if all[p] == nil {
			all[p] = &approvalDays{byDays: map[int64]int64{}}
		}
		all[p].orders += orders
		all[p].byDays[days] += orders
		return p, err
	}, selectApprovals)
	return all, err
}

// Reversal is how often a program takes commission back, and how long it takes
// to approve.
type Reversal struct {
	Account   string `json:"account"`
	ProgramID string `json:"program_id"`
	Orders    int64  `json:"orders"`  // all of them
	Pending   int64  `json:"pending"` // not yet decided
	Reversed  int64  `json:"reversed"`
	// Rate is the part of the decided orders that was reversed, from 0 to 1 with
	// four decimals, "" while none is decided.
	Rate string `json:"rate"`
	// Approved orders with a readable day, and the days from the order until half
	// of them, 90 and 99 of 100 were approved; nil when there are none.
	Approved int64  `json:"approved"`
	P50      *int64 `json:"p50_days"`
	P90      *int64 `json:"p90_days"`
	P99      *int64 `json:"p99_days"`
}

// Reversals returns reversal rate and approval time by program for the orders
// that f chooses by account and program, and for the rate by website, sub id and
// day as well; its status and currency are not used. Sorted by account and
// program. The error is a [*FilterError] or a [*StoreError].
func (r *Reader) Reversals(ctx context.Context, f Filter) ([]Reversal, error) {
	f.Status, f.Currency = "", ""
	earned, err := r.Earnings(ctx, Query{Filter: f, Group: []string{"account", "program", "status"}})
	if err != nil {
		return nil, err
	}
	approvals, err := r.approvals(ctx)
	if err != nil {
		return nil, r.fail("reversals", err)
	}
	found := map[program]*Reversal{}
	for i := range earned {
		e := &earned[i]
		p := program{e.Group[0], e.Group[1]}
		if found[p] == nil {
			found[p] = &Reversal{Account: p.account, ProgramID: p.program}
		}
		found[p].count(e.Group[2], e.Orders)
	}
	all := make([]Reversal, 0, len(found))
	for p, v := range found {
		v.complete(approvals[p])
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b Reversal) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.ProgramID, b.ProgramID))
	})
	return all, nil
}

func (v *Reversal) count(status string, orders int64) {
	v.Orders += orders
	switch expected(status) {
	case Estimated:
		v.Pending += orders
	case "":
		v.Reversed += orders
	}
}

func (v *Reversal) complete(days *approvalDays) {
	if decided := v.Orders - v.Pending; decided > 0 {
		v.Rate = decimal.NewFromInt(v.Reversed).DivRound(decimal.NewFromInt(decided), 4).StringFixed(4)
	}
	if days == nil || days.orders == 0 {
		return
	}
	p50, p90, p99 := days.percentile(50), days.percentile(90), days.percentile(99)
	v.Approved, v.P50, v.P90, v.P99 = days.orders, &p50, &p90, &p99
}

// Settled compares what was estimated with what was confirmed or approved, for
// the orders of a program with the same two currencies.
type Settled struct {
	Account             string       `json:"account"`
	ProgramID           string       `json:"program_id"`
	EstimatedCurrency   string       `json:"estimated_currency"`
	ConfirmedCurrency   string       `json:"confirmed_currency"`
	Orders              int64        `json:"orders"`
	EstimatedAmount     schema.Money `json:"estimated_amount"`
	EstimatedCommission schema.Money `json:"estimated_commission"`
	ConfirmedAmount     schema.Money `json:"confirmed_amount"`
	ConfirmedCommission schema.Money `json:"confirmed_commission"`
	// Rate is confirmed commission by estimated commission, with six decimals: of
	// one currency what was kept, of two the rate of conversion with it. It is ""
	// when nothing was estimated.
	Rate string `json:"rate"`
}

// EstimatedAndConfirmed returns the comparison for the accounts, programs and
// (confirmed) currency that f chooses; its other fields are not used. Sorted by
// account, program and currencies. The error is a [*StoreError].
func (r *Reader) EstimatedAndConfirmed(ctx context.Context, f Filter) ([]Settled, error) {
	all, err := collect(ctx, r.db, scanSettled, selectSettled)
	if err != nil {
		return nil, r.fail("estimated and confirmed", err)
	}
	all = slices.DeleteFunc(all, func(s Settled) bool {
		return f.Account != "" && s.Account != f.Account || f.ProgramID != "" && s.ProgramID != f.ProgramID || f.Currency != "" && s.ConfirmedCurrency != f.Currency
	})
	slices.SortFunc(all, func(a, b Settled) int { return slices.Compare(a.order(), b.order()) })
	return all, nil
}

// Conversions returns those that were estimated in another currency than they
// were confirmed in, as [Reader.EstimatedAndConfirmed] does.
func (r *Reader) Conversions(ctx context.Context, f Filter) ([]Settled, error) {
	all, err := r.EstimatedAndConfirmed(ctx, f)
	return slices.DeleteFunc(all, func(s Settled) bool { return s.EstimatedCurrency == s.ConfirmedCurrency }), err
}

func (s *Settled) order() []string {
	return []string{s.Account, s.ProgramID, s.EstimatedCurrency, s.ConfirmedCurrency}
}

func scanSettled(rows *sql.Rows) (Settled, error) {
	var s Settled
	var estimatedAmount, estimated, confirmedAmount, confirmed int64
	err := rows.Scan(&s.Account, &s.ProgramID, &s.EstimatedCurrency, &s.ConfirmedCurrency, &s.Orders,
		&estimatedAmount, &estimated, &confirmedAmount, &confirmed)
	s.EstimatedAmount, s.EstimatedCommission = schema.MoneyFromCents(estimatedAmount), schema.MoneyFromCents(estimated)
	s.ConfirmedAmount, s.ConfirmedCommission = schema.MoneyFromCents(confirmedAmount), schema.MoneyFromCents(confirmed)
	if estimated != 0 {
		s.Rate = decimal.NewFromInt(confirmed).DivRound(decimal.NewFromInt(estimated), 6).StringFixed(6)
	}
	return s, err
}
