package network

import (
	"database/sql"

	"github.com/go-json-experiment/json"
	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// cents is an amount in hundredths, which is how the database holds it.
type cents int64

// decimal returns the amount as a number.
func (c cents) decimal() decimal.Decimal { return decimal.New(int64(c), -schema.MoneyScale) }

// money returns the amount as the API writes it, with two decimal places.
func (c cents) money() schema.Money { return schema.MoneyFromCents(int64(c)) }

// times returns the amount times a factor, rounded half up.
func (c cents) times(factor decimal.Decimal) cents {
	return cents(decimal.NewFromInt(int64(c)).Mul(factor).Round(0).IntPart())
}

// order is a row of orders: the resource of specification 2.3 and what the
// service keeps beside it. Times are Unix seconds.
type order struct {
	id, publisher        int64
	program, programName string
	website, link, subID string // link and subID may be ""
	sn, parentSn         string // parentSn may be ""
	placed               int64
	price, commission    cents // estimates, in currency
	currency             string
	status               schema.SettlementStatus
	charge               charge
	details              string // order lines, a JSON array
	click, promo         string // may be ""
	confirmed            cents  // what a report confirmed, in currency
	clicks               int64  // of the simulation that the order is one of, see clicksFor
	newCustomer          int64  // 1 for an order of a new customer
	created, updated     int64
	seq                  int64 // of its last line in order_history

	counted times  // as order_counts has them, zero before the order is stored
	settled charge // as settlement_changes has it, alike
	shared  share  // as statistics has it, alike
	told    told   // what its publisher knows, see push.go
}

// times are the times of an order that a list can be filtered by, 0 for none.
type times struct{ updated, placed, charged int64 }

func (o *order) times() times { return times{o.updated, o.placed, o.charge.at} }

// charge is what a settlement decided. An order that was never settled has
// none: at is then 0.
type charge struct {
	price, commission cents
	currency          string
	at                int64
}

// setLines encodes the order lines.
func (o *order) setLines(lines []schema.OrderLine) error {
	raw, err := json.Marshal(lines, json.Deterministic(true))
	o.details = string(raw)
	return err
}

// head returns what is stored of the order's record beside its lines.
func (o *order) head() string { return string(appendHead(make([]byte, 0, headSize), o)) }

// lines decodes the order lines.
func (o *order) lines() ([]schema.OrderLine, error) {
	var lines []schema.OrderLine
	err := json.Unmarshal([]byte(o.details), &lines)
	return lines, err
}

// orderColumns is in the order of [scanOrder] and [change.insert].
const orderColumns = `id, publisher_id, program_id, program_name, website_id, link_id, sub_id, order_sn,
	parent_order_sn, order_time, orders_cents, commission_cents, currency, status, confirm_cents,
	confirm_commission_cents, charge_currency, charge_time, created_at, updated_at, seq, details,
	click_id, promo_code, new_customer, confirmed_cents, simulated_clicks`

// scanOrder reads a row of orderColumns.
func scanOrder(scan func(dest ...any) error) (order, error) {
	var o order
	var price, commission, at sql.Null[int64]
	var currency sql.NullString
	err := scan(&o.id, &o.publisher, &o.program, &o.programName, &o.website, &o.link, &o.subID, &o.sn,
		&o.parentSn, &o.placed, &o.price, &o.commission, &o.currency, &o.status, &price,
		&commission, &currency, &at, &o.created, &o.updated, &o.seq, &o.details,
		&o.click, &o.promo, &o.newCustomer, &o.confirmed, &o.clicks)
	o.charge = charge{cents(price.V), cents(commission.V), currency.String, at.V}
	o.counted, o.settled, o.shared = o.times(), o.charge, o.share()
	o.told = told{true, o.status}
	return o, err
}

// values returns the charge as columns: null for an order without one.
func (c charge) values() (price, commission, currency, at any) {
	if c.at == 0 {
		return nil, nil, nil, nil
	}
	return int64(c.price), int64(c.commission), c.currency, c.at
}
