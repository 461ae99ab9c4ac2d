package network

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

func TestCommission(t *testing.T) {
	yuan := tariff{rates{"": {value: 500}, "88": {value: 725}, "91": {fixed: true, value: 1_50}, "0": {}}, decimal.NewFromInt(1)}
	dollars := tariff{yuan.rates, decimal.RequireFromString("0.1408")}
	for _, tt := range []struct {
		tariff   tariff
		category string
		amount   cents
		count    int64
		want     cents
	}{
		{yuan, "", 100_00, 1, 5_00},
		{yuan, "other", 100_00, 3, 5_00},
		{yuan, "88", 100_00, 1, 7_25},
		{yuan, "88", 2, 1, 0},  // 0.145
		{yuan, "88", 7, 1, 1},  // 0.5075
		{yuan, "", 10, 1, 1},   // 0.5, half up
		{yuan, "", 9, 1, 0},    // 0.45
		{yuan, "", 1_30, 1, 7}, // 6.5
		{yuan, "", 0, 1, 0},
		{yuan, "91", 100_00, 1, 1_50},
		{yuan, "91", 1, 4, 6_00},
		{yuan, "0", 100_00, 1, 0},
		{dollars, "91", 100_00, 3, 63},   // 63.36
		{dollars, "91", 100_00, 5, 1_06}, // 105.6
		{dollars, "", 100_00, 5, 5_00},
		{tariff{rates{"1": {value: 100}}, decimal.NewFromInt(1)}, "2", 100_00, 1, 0},
	} {
		if got := tt.tariff.commission(tt.category, tt.amount, tt.count); got != tt.want {
			t.Errorf("%d of %q times %d: %d, want %d", tt.amount, tt.category, tt.count, got, tt.want)
		}
	}
}

// drawOffer makes a program with any rates.
func drawOffer(t *rapid.T) *offer {
	p := &offer{id: "p", currency: "USD", chargeCurrency: "CNY", rates: rates{}}
	p.exchange = decimal.New(rapid.Int64Range(1, 100_000).Draw(t, "exchange"), -4)
	for _, category := range []string{"", "a", "b"} {
		if rapid.Bool().Draw(t, "rate of "+category) {
			p.rates[category] = rate{rapid.Bool().Draw(t, "fixed"), rapid.Int64Range(0, 20_00).Draw(t, "value")}
		}
	}
	return p
}

func drawItems(t *rapid.T) []item {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) item {
		return item{
			category: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "category"),
			count:    rapid.Int64Range(1, 20).Draw(t, "count"),
			pay:      cents(rapid.Int64Range(0, 100_000_00).Draw(t, "pay")),
		}
	}), 0, 6).Draw(t, "items")
}

// halfUp rounds a number to two decimal places in another way than the service.
func halfUp(d decimal.Decimal) string {
	return d.Add(decimal.RequireFromString("0.005")).Truncate(2).StringFixed(2)
}

// expected is the commission of an item by its definition, in whole units.
func (i *item) expected(p *offer, currency string) decimal.Decimal {
	r, known := p.rates[i.category]
	if !known {
		r = p.rates[""]
	}
	value := decimal.NewFromInt(r.value).Div(decimal.NewFromInt(100))
	switch {
	case !r.fixed:
		return decimal.NewFromInt(int64(i.pay)).Div(decimal.NewFromInt(100)).Mul(value).Div(decimal.NewFromInt(100))
	case currency == p.currency:
		return value.Mul(decimal.NewFromInt(i.count))
	default:
		return value.Mul(decimal.NewFromInt(i.count)).Mul(p.exchange)
	}
}

// Whatever a program pays and a brand reports: the commission of a line is that
// of its rate, the order's is the sum of its lines', the confirmed amounts are
// the converted ones, and the same report again changes nothing.
func TestCommissionProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := drawOffer(t), &report{items: drawItems(t)}
		status := rapid.SampledFrom([]schema.SettlementStatus{schema.Pending, schema.Confirmed, schema.Approved}).Draw(t, "status")
		r.status = &status
		if len(r.items) == 0 || rapid.Bool().Draw(t, "with amount") {
			amount := cents(rapid.Int64Range(0, 100_000_00).Draw(t, "amount"))
			r.amount = &amount
		}
		o := &order{currency: rapid.SampledFrom([]string{"USD", "CNY"}).Draw(t, "currency")}
		lines, err := o.take(p, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, p, r, o, lines)
		if settled(status) {
			checkCharge(t, p, o)
		}
		o.id = 1
		before := *o
		if _, err := o.take(p, r, 2); err != nil || *o != before {
			t.Fatalf("again: %v\n%+v\n%+v", err, before, *o)
		}
	})
}

func checkLines(t *rapid.T, p *offer, r *report, o *order, lines []schema.OrderLine) {
	items := r.items
	if len(items) == 0 {
		items = []item{{pay: o.price, count: 1}}
	}
	all, price := decimal.Zero, decimal.Zero
	for n := range items {
		want := halfUp(items[n].expected(p, o.currency))
		all, price = all.Add(decimal.RequireFromString(want)), price.Add(items[n].pay.decimal())
		if len(lines) > 0 && lines[n].OrderCommission.String() != want {
			t.Fatalf("line %d: %s, want %s", n, lines[n].OrderCommission, want)
		}
	}
	if len(lines) != len(r.items) || !o.commission.decimal().Equal(all) {
		t.Fatalf("%d lines, commission %s, want %s", len(lines), o.commission.money(), all)
	}
	if r.amount != nil {
		price = r.amount.decimal()
	}
	if !o.price.decimal().Equal(price) {
		t.Fatalf("price %s, want %s", o.price.money(), price)
	}
}

func checkCharge(t *rapid.T, p *offer, o *order) {
	factor := decimal.NewFromInt(1)
	if o.currency == "USD" {
		factor = p.exchange
	}
	commission := o.commission
	if o.price == 0 {
		commission = 0 // nothing was sold
	}
	got := fmt.Sprintf("%s %s %s", o.charge.price.money(), o.charge.commission.money(), o.charge.currency)
	want := fmt.Sprintf("%s %s %s", halfUp(o.price.decimal().Mul(factor)), halfUp(commission.decimal().Mul(factor)), "CNY")
	if got != want {
		t.Fatalf("charge %s, want %s", got, want)
	}
}

// What is confirmed of an order earns the rates of what is left of each line.
func TestPartCommission(t *testing.T) {
	p := &offer{currency: "CNY", chargeCurrency: "CNY", rates: rates{"": {value: 725}, "fixed": {fixed: true, value: 1_00}}}
	for _, tt := range []struct {
		items           []item
		price, part     cents
		commission, got cents
	}{
		{nil, 99_99, 50_00, 7_25, 3_63},
		{[]item{{pay: 10}, {pay: 10}, {pay: 10}}, 0, 20, 3, 1}, // 0.725 each, 1.45 of the two
		{[]item{{pay: 100_00}, {pay: 50_00, category: "fixed", count: 2}}, 0, 75_00, 9_25, 5_63},
		{[]item{{pay: 100_00}}, 0, 0, 7_25, 0},
		{[]item{{pay: 80_00}}, 100_00, 50_00, 5_80, 2_90},
	} {
		o := &order{currency: "CNY"}
		first := &report{items: tt.items}
		if tt.price != 0 {
			first.amount = &tt.price
		}
		if _, err := o.take(p, first, 1); err != nil {
			t.Fatal(err)
		}
		o.id = 1
		confirmed := schema.Confirmed
		if _, err := o.take(p, &report{status: &confirmed, amount: &tt.part}, 2); err != nil {
			t.Fatal(err)
		}
		if o.commission != tt.commission || o.charge.commission != tt.got || o.charge.price != tt.part {
			t.Errorf("%+v: %d of %d, want %d of %d", tt.items, o.charge.commission, o.commission, tt.got, tt.commission)
		}
	}
}
