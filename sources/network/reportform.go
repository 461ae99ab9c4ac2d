package network

import (
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

const (
	// maxItems bounds the items of an order report.
	maxItems = 500
	// maxQuantity bounds how many pieces one of them stands for.
	maxQuantity = 1_000_000
	// maxAmount is the largest amount of decimal(10,2).
	maxAmount cents = 99_999_999_99
	// defaultCurrency is that of a report or program without one.
	defaultCurrency = "CNY"
	// reportAhead is how far in the future the time of an order may be, because
	// clocks and zones are never quite right.
	reportAhead = int64(24 * time.Hour / time.Second)
)

// report is what orders.post says of an order. What is absent, and then has the
// zero value or is nil, leaves the order as it is.
type report struct {
	program, sn, parentSn string
	click                 string
	placed                int64 // Unix seconds
	amount                *cents
	status                *schema.SettlementStatus
	currency, promo       string
	newCustomer           *int64 // 0 or 1
	items                 []item
}

// item is an element of ItemDetails.
type item struct {
	id, name, category, categoryName string
	status                           string // as the brand sent it
	count                            int64
	price                            string // of one piece, in yuan, as it came
	pay                              cents  // for all pieces, in the order's currency
}

// parseReport reads the parameters of orders.post. An order of its own is
// OrderId, a sub-order is SubOrderID within OrderId; both may be spelled with
// "Id" and "ID".
func (s *Service) parseReport(f *form) (report, error) {
	r := report{
		program: f.text("ProgramId"), sn: f.either("OrderId", "OrderID"), click: f.text("ClickId"),
		placed: f.dateTime("TransactionTime", s.config.TimeZone, 0), currency: f.text("Currency"), promo: f.text("PromoCode"),
	}
	if r.sn == "" {
		f.breaks("OrderId", "a value, it is required")
	}
	if sub := f.either("SubOrderID", "SubOrderId"); sub != "" {
		if sub == r.sn {
			f.breaks("SubOrderID", "another number than OrderId")
		}
		r.sn, r.parentSn = sub, r.sn
	}
	if amount, given := f.amount("Amount"); given {
		r.amount = &amount
	}
	if f.text("TransactionTime") != "" && (r.placed <= 0 || r.placed > s.unix()+reportAhead) {
		f.breaks("TransactionTime", "a time after 1970 and not in the future")
	}
	if f.gives("IsNewCustomer") {
		r.newCustomer = new(int64)
		if f.flag("IsNewCustomer") {
			*r.newCustomer = 1
		}
	}
	r.status = f.settlement("Status")
	if r.currency != "" {
		if err := schema.ValidateCurrency("Currency", r.currency); err != nil {
			f.fail(err)
		}
	}
	r.items = f.items("ItemDetails")
	return r, f.err
}

// gives reports whether a parameter is there and not empty.
func (f *form) gives(name string) bool {
	p, given := f.params.Get(name)
	return given && (p.Kind != '"' || p.Text != "")
}

// either returns the text of a parameter that has two spellings, which have to
// agree when both are there.
func (f *form) either(name, other string) string {
	a, b := f.text(name), f.text(other)
	switch {
	case a == "":
		return b
	case b != "" && a != b:
		f.breaks(other, "the same as "+name)
	}
	return a
}

// settlement returns a settlement status (specification 3.1), nil when it is
// absent.
func (f *form) settlement(name string) *schema.SettlementStatus {
	text := f.choice(name, "-1, 0, 1 or 2", "", "-1", "0", "1", "2")
	if text == "" {
		return nil
	}
	s, err := schema.ParseSettlementStatus(text)
	if err != nil {
		f.breaks(name, "-1, 0, 1 or 2")
	}
	return &s
}

// items reads ItemDetails; nil when there are none.
func (f *form) items(name string) []item {
	elements := f.objects(name, maxItems)
	var all []item
	for _, e := range elements {
		all = append(all, e.item())
		f.take(e)
	}
	return all
}

// item reads an element of ItemDetails. PayAmount is by default Price times
// Quantity.
func (f *form) item() item {
	i := item{
		id: f.text("ItemId"), name: f.text("ItemName"), category: f.text("CateId"), categoryName: f.text("CateName"),
		status: f.text("Status"), count: f.integer("Quantity", 1, 1, maxQuantity), price: f.text("Price"),
	}
	price, priced := f.amount("Price")
	pay, paid := f.amount("PayAmount")
	switch {
	case paid:
		i.pay = pay
	case priced:
		i.pay = cents(min(int64(price)*i.count, int64(maxAmount)+1)) // too much is refused with the sum
	default:
		f.breaks("PayAmount", "an amount, when there is no Price")
	}
	return i
}

// sum adds the amounts of items up.
func sum(items []item) (total cents) {
	for i := range items {
		total += items[i].pay
	}
	return total
}

// line makes the order line of an item. A status that is none of specification
// 3.2 gives Unknown, and without one the line is paid; OrderStatus is what the
// brand sent.
func (i *item) line(o *order, commission cents) schema.OrderLine {
	state := schema.LinePaid
	if i.status != "" {
		var err error
		if state, err = schema.ParseLineStatus(i.status); err != nil {
			state = schema.LineUnknown
		}
	}
	return schema.OrderLine{
		GoodsCate: text(i.category), ItemCate: text(i.category), ItemCateName: text(i.categoryName),
		ItemID: text(i.id), ItemName: text(i.name), ItemPrice: text(i.price),
		ItemCount: text(strconv.FormatInt(i.count, 10)), OrdersPrice: i.pay.money(), OrderCommission: commission.money(),
		OrderStatus: text(i.status), OrderSn: text(o.sn), ParentOrderSn: text(o.parentSn), LbOrderStatus: text(state.Value()),
	}
}

// exchanged converts an amount of the order's currency into the program's
// charge currency, rounded half up.
func (p *offer) exchanged(amount cents, currency string) cents {
	if currency == p.chargeCurrency {
		return amount
	}
	return amount.times(p.exchange)
}

// tariff is that of an order in one of the program's two currencies.
func (p *offer) tariff(currency string) tariff {
	t := tariff{rates: p.rates, factor: decimal.NewFromInt(1)}
	if currency != p.currency {
		t.factor = p.exchange
	}
	return t
}
