package network

import (
	"fmt"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// take changes the order to what a report says, and returns its lines. What a
// report does not give stays; the sum of the lines' commissions is the order's.
func (o *order) take(p *offer, r *report, now int64) ([]schema.OrderLine, error) {
	if r.placed != 0 {
		o.placed = r.placed
	}
	if r.promo != "" {
		o.promo = r.promo
	}
	if r.newCustomer != nil {
		o.newCustomer = *r.newCustomer
	}
	to := o.status
	if r.status != nil {
		to = *r.status
	}
	t := p.tariff(o.currency)
	before := *o
	lines, err := o.estimate(t, r, to)
	if err != nil {
		return nil, err
	}
	s := settling{order: o, before: before, offer: p, tariff: t, report: r, lines: lines, now: now}
	s.settle(to)
	for _, amount := range []cents{o.price, sum(r.items), o.commission, o.charge.price, o.charge.commission} {
		if amount > maxAmount {
			return nil, &schema.ParamError{Name: "Amount", Rule: "amounts and commissions of at most 99999999.99 in all"}
		}
	}
	return lines, nil
}

// estimate brings the estimated amounts and the lines up to date. Items replace
// all lines. Amount is the estimate of an order that is new or still pending;
// later it is what is confirmed. An estimate that is the sum of the lines stays
// that. Commissions are computed anew where what they are computed from has
// changed, so that new rates of the program do not touch them.
func (o *order) estimate(t tariff, r *report, to schema.SettlementStatus) ([]schema.OrderLine, error) {
	isNew := o.id == 0
	var lines []schema.OrderLine
	if !isNew {
		var err error
		if lines, err = o.lines(); err != nil {
			return nil, fmt.Errorf("order %d: its lines are no JSON", o.id)
		}
	}
	price := o.price
	switch {
	case r.amount != nil && (isNew || to == schema.Pending):
		price = *r.amount
	case len(r.items) > 0 && (isNew || price == total(lines)):
		price = sum(r.items)
	}
	if len(r.items) > 0 {
		lines, o.commission = o.newLines(t, r.items, lines)
	} else if len(lines) == 0 && (isNew || price != o.price) {
		o.commission = t.commission("", price, 1)
	}
	o.price = price
	if len(r.items) == 0 && !isNew {
		return lines, nil
	}
	if err := o.setLines(lines); err != nil {
		return nil, fmt.Errorf("order lines: %w", err)
	}
	return lines, nil
}

// newLines makes the lines of items and adds their commissions up. One that is
// worth the same as the line in its place keeps that line's commission.
func (o *order) newLines(t tariff, items []item, old []schema.OrderLine) (lines []schema.OrderLine, all cents) {
	for n := range items {
		i := &items[n]
		commission := cents(-1)
		if n < len(old) {
			category, count, pay, earned := worth(&old[n])
			if category == i.category && count == i.count && pay == i.pay {
				commission = earned
			}
		}
		if commission < 0 {
			commission = t.commission(i.category, i.pay, i.count)
		}
		lines, all = append(lines, i.line(o, commission)), all+commission
	}
	return lines, all
}

// worth returns what the commission of a line was computed from, and it.
func worth(l *schema.OrderLine) (category string, count int64, pay, commission cents) {
	p, _ := l.OrdersPrice.Cents() // a report wrote it
	c, _ := l.OrderCommission.Cents()
	count, _ = strconv.ParseInt(l.ItemCount.String(), 10, 64)
	return l.ItemCate.String(), count, cents(p), cents(c)
}

// total adds the amounts of lines up.
func total(lines []schema.OrderLine) (all cents) {
	for i := range lines {
		_, _, pay, _ := worth(&lines[i])
		all += pay
	}
	return all
}

// settling moves an order to a settlement status.
type settling struct {
	*order
	before order // the report came
	offer  *offer
	tariff tariff
	report *report
	lines  []schema.OrderLine
	now    int64
}

// settle sets the status and the confirmed amounts. The specification gives no
// transitions, so every one is allowed: pending has no confirmed amounts,
// invalid has zero ones. Confirmed and approved have those of their first
// settlement, until a report gives another Amount or items of another worth.
// ChargeTime is when the present amounts were set.
func (s *settling) settle(to schema.SettlementStatus) {
	from, given := s.status, s.report.amount
	s.status = to
	switch {
	case to == schema.Pending:
		s.charge, s.confirmed = charge{}, 0
	case to == schema.Invalid && (from != to || s.charge.at == 0):
		s.charge, s.confirmed = charge{currency: s.offer.chargeCurrency, at: s.now}, 0
	case to == schema.Invalid:
	case given != nil && (!settled(from) || *given != s.confirmed || s.revalued()):
		s.confirm(*given)
	case given == nil && (!settled(from) || s.price != s.before.price):
		s.confirm(s.price)
	case given == nil && s.revalued():
		s.confirm(s.confirmed)
	}
}

// revalued reports whether the items of the report have changed what the order
// is worth.
func (s *settling) revalued() bool {
	return s.price != s.before.price || s.commission != s.before.commission
}

// settled reports whether a status has confirmed amounts.
func settled(s schema.SettlementStatus) bool { return s == schema.Confirmed || s == schema.Approved }

// confirm sets the confirmed amounts, in the program's charge currency.
func (s *settling) confirm(amount cents) {
	s.confirmed = amount
	s.charge = charge{
		price:      s.offer.exchanged(amount, s.currency),
		commission: s.offer.exchanged(s.earned(amount), s.currency),
		currency:   s.offer.chargeCurrency, at: s.now,
	}
}

// earned is the commission on what was confirmed, in the order's currency.
// Items in the same report say what was bought, and so does the estimate when
// it was confirmed as it is. Otherwise percent rates are applied to the share
// that is left of each line, and fixed ones stay.
func (s *settling) earned(amount cents) cents {
	switch {
	case amount == 0:
		return 0
	case amount == s.price || len(s.report.items) > 0:
		return s.commission
	case len(s.lines) == 0 || s.price == 0:
		return s.tariff.commission("", amount, 1)
	}
	var percent, fixed decimal.Decimal // of the lines, in full
	for i := range s.lines {
		category, count, pay, _ := worth(&s.lines[i])
		if exact := s.tariff.exact(category, pay, count); s.tariff.rates.of(category).fixed {
			fixed = fixed.Add(exact)
		} else {
			percent = percent.Add(exact)
		}
	}
	share := percent.Mul(decimal.NewFromInt(int64(amount)))
	return roundCents(share.Add(fixed.Mul(decimal.NewFromInt(int64(s.price)))).DivRound(decimal.NewFromInt(int64(s.price)), 0))
}
