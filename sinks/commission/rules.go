package commission

import (
	"fmt"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// state is a row of commission_orders: an order after one event.
type state struct {
	key        schema.OrderKey
	version    uint64
	sequence   uint64
	observedAt time.Time
	observed   string // as the books write it
	vanished   int64  // 1 when the network no longer knows the order, else 0

	programName, websiteID, linkID, subID string
	day, chargeDay                        int64 // as [dayOf]

	counted   counted
	estimated money
	confirmed money

	// What the books add to it:
	id                int64
	dimensionIDs      [levels]int64
	status, currency  int64 // numbers of what is counted
	approvedOn        int64 // day, 0 when not approved
	stands            standing
	lastTransaction   int64 // its newest, 0 for none
	closedTransaction int64 // its newest transaction in a closed month, 0 for none
	created           bool  // by the batch
	place             int   // among those that a batch changes, from 1
	moved             bool  // some of slowColumns are others than in the database
}

// dimension returns the one of an order in full.
func (s *state) dimension() dimension {
	return dimension{s.key.Account, s.key.Program, s.websiteID, s.subID, s.linkID}
}

// stateKey is the key of an order in the books.
type stateKey struct {
	owner   int64 // number of account and program alone
	orderSn string
}

func (s *state) stateKey() stateKey { return stateKey{s.dimensionIDs[byProgram], s.key.OrderSn} }

// money is an amount and the commission on it, in hundredths of a currency.
type money struct {
	currency   string
	amount     int64
	commission int64
}

// counted is what an order adds to the sums, and under which status.
type counted struct {
	status string // value of specification 3.1, or the network's own text
	money
}

// newState reads an order's state from an event; text makes the network's texts
// fit for the database. The error is an [*EntryError].
func newState(e *schema.Entry, text func(string) string) (state, error) {
	d := &e.Event.Data
	o := &d.Order
	estimated, confirmed, err := amounts(o)
	if err != nil {
		return state{}, &EntryError{Sequence: e.Sequence, EventID: e.Event.ID, Cause: err}
	}
	s := state{
		key: e.Event.Key(), version: d.Version, sequence: e.Sequence, observedAt: d.ObservedAt, observed: stamp(d.ObservedAt),
		programName: o.ProgramName.String(), websiteID: o.WebsiteID.String(), linkID: o.LinkID.String(), subID: o.SubID.String(),
		day: dayOf(o.OrderTime.String()), chargeDay: dayOf(o.ChargeTime.String()),
		counted: count(o, estimated, confirmed), estimated: estimated, confirmed: confirmed,
	}
	if e.Event.Type == schema.OrderVanished {
		s.vanished = 1
	}
	for _, t := range []*string{
		&s.key.Account, &s.key.Program, &s.key.OrderSn, &s.programName, &s.websiteID, &s.linkID, &s.subID,
		&s.counted.status, &s.counted.currency, &s.estimated.currency, &s.confirmed.currency,
	} {
		*t = text(*t)
	}
	return s, nil
}

// count applies the rules of the package.
func count(o *schema.Order, estimated, confirmed money) counted {
	status, err := o.Settlement()
	if err != nil {
		return counted{o.Status.String(), estimated.without()}
	}
	switch status {
	case schema.Pending:
		return counted{status.Value(), estimated}
	case schema.Confirmed, schema.Approved:
		if confirmed.currency == "" {
			confirmed.currency = estimated.currency
		}
		return counted{status.Value(), confirmed}
	default: // Invalid
		return counted{status.Value(), estimated.without()}
	}
}

// without returns the amount with no commission on it.
func (m money) without() money {
	m.commission = 0
	return m
}

// amounts returns what the network estimates and what it has confirmed. The
// error names the field and wraps [schema.ErrAmountRange].
func amounts(o *schema.Order) (estimated, confirmed money, err error) {
	estimated.currency, confirmed.currency = o.Currency.String(), o.ChargeCurrency.String()
	for _, f := range []struct {
		name string
		from schema.Money
		to   *int64
	}{
		{"OrdersPrice", o.OrdersPrice, &estimated.amount},
		{"SiterCommission", o.SiterCommission, &estimated.commission},
		{"ConfirmPrice", o.ConfirmPrice, &confirmed.amount},
		{"ConfirmSiterCommission", o.ConfirmSiterCommission, &confirmed.commission},
	} {
		if *f.to, err = f.from.Cents(); err != nil {
			return money{}, money{}, fmt.Errorf("%s: %w", f.name, schema.ErrAmountRange)
		}
	}
	return estimated, confirmed, nil
}
