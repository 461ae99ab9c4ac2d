package network

import (
	"math/rand/v2"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// life brings one order forward. It knows no clock and no database: what comes
// next, and after how long, follows from the state of the order and the dice
// alone. So the changes of an order are the same ones in every run.
type life struct {
	order   *order
	lines   []schema.OrderLine
	program *program
	dice    *rand.Rand
}

// act changes the order at a time in Unix seconds and returns the reason for
// the history.
type act func(at int64) string

// The times between the settlements of an order.
var (
	untilSettled  = span{12 * time.Hour, 5 * day}
	untilApproved = span{4 * day, 12 * day}
	untilLate     = span{3 * day, 40 * day}
	untilAdjusted = span{6 * time.Hour, 3 * day}
)

// plan returns the next change and how long after the last one it comes; nil
// when the order has reached its end.
func (l *life) plan() (time.Duration, act) {
	if l.order.status == schema.Invalid {
		return 0, nil
	}
	if moving, states := l.moving(); len(moving) > 0 {
		return l.planLines(moving, states)
	}
	price, commission := l.owed()
	switch {
	case l.order.status == schema.Pending:
		return l.planSettlement(price, commission)
	case price < l.order.charge.price:
		return untilAdjusted.draw(l.dice), l.adjust(price, commission)
	case l.order.status == schema.Confirmed:
		return l.planApproval()
	default:
		return l.planLate()
	}
}

// owed returns what the completed lines are worth, in the charge currency.
func (l *life) owed() (price, commission cents) {
	for i := range l.lines {
		if lineState(&l.lines[i]) != schema.LineCompleted {
			continue
		}
		p, _ := l.lines[i].OrdersPrice.Cents() // the simulation wrote it
		c, _ := l.lines[i].OrderCommission.Cents()
		price, commission = price+cents(p), commission+cents(c)
	}
	o := l.order
	return exchange(price, o.currency, l.program.chargeCurrency), exchange(commission, o.currency, l.program.chargeCurrency)
}

// planSettlement confirms a pending order whose lines are all at rest, for
// what is left of it and now and then less a discount, or finds it invalid.
func (l *life) planSettlement(price, commission cents) (time.Duration, act) {
	wait := untilSettled.draw(l.dice)
	if price == 0 || chance(l.dice, 6) {
		return wait, l.settle(schema.Invalid, 0, 0)
	}
	if chance(l.dice, 20) {
		rest := decimal.New(90+l.dice.Int64N(10), -2)
		price, commission = price.times(rest), commission.times(rest)
	}
	return wait, l.settle(schema.Confirmed, price, commission)
}

// planApproval approves a confirmed order; a few are corrected first, and a
// few are reversed.
func (l *life) planApproval() (time.Duration, act) {
	wait := untilApproved.draw(l.dice)
	c, n := l.order.charge, l.dice.IntN(100)
	switch {
	case n < 6:
		return wait, l.settle(schema.Invalid, 0, 0)
	case n < 12 && c.price > 100:
		less := decimal.New(95, -2)
		return wait, l.settle(schema.Confirmed, c.price.times(less), c.commission.times(less))
	default:
		return wait, l.approve
	}
}

// planLate ends the life of most approved orders. Some are reversed after
// their payout, and of some a line is disputed or sent back.
func (l *life) planLate() (time.Duration, act) {
	wait := untilLate.draw(l.dice)
	switch n := l.dice.IntN(100); {
	case n < 5:
		return wait, l.settle(schema.Invalid, 0, 0)
	case n < 14:
		var completed []int
		for i := range l.lines {
			if lineState(&l.lines[i]) == schema.LineCompleted {
				completed = append(completed, i)
			}
		}
		which, to := []int{pick(l.dice, completed)}, follow(l.dice, late)
		return wait, func(int64) string { return l.moveLines(which, schema.LineCompleted, to) }
	default:
		return 0, nil
	}
}

// adjust lowers the settlement to what lines that came back have left of it.
func (l *life) adjust(price, commission cents) act {
	if price == 0 {
		return l.settle(schema.Invalid, 0, 0)
	}
	return l.settle(l.order.status, price, commission)
}

// settle sets status and confirmed amounts. ChargeTime is always the time of
// the settlement that set the present amounts.
func (l *life) settle(to schema.SettlementStatus, price, commission cents) act {
	return func(at int64) string {
		o, from := l.order, l.order.status
		o.status = to
		o.charge = charge{price: price, commission: commission, currency: l.program.chargeCurrency, at: at}
		if from == to {
			return "settlement: amounts of " + to.String()
		}
		return "settlement: " + from.String() + " to " + to.String()
	}
}

// approve keeps the amounts and their ChargeTime.
func (l *life) approve(int64) string {
	l.order.status = schema.Approved
	return "settlement: Confirmed to Approved"
}
