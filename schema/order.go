package schema

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TimeLayout is the format of OrderTime and ChargeTime (specification 2.3:
// yyyy-MM-dd HH:mm:ss). The text carries no zone; see [ParseTime].
const TimeLayout = time.DateTime

// ErrNoTime marks a time field that holds no time: absent, empty, or the zero
// date "0000-00-00 00:00:00".
var ErrNoTime = errors.New("no time")

// Order is the order resource of specification 2.3. All fields are optional in
// an answer; an absent one is the zero value and is omitted when encoded.
type Order struct {
	ID            Text `json:"Id,omitzero"`            // order identifier
	ProgramID     Text `json:"ProgramId,omitzero"`     // program identifier
	ProgramName   Text `json:"ProgramName,omitzero"`   // program name
	WebsiteID     Text `json:"WebsiteId,omitzero"`     // promotion (site) identifier
	LinkID        Text `json:"LinkId,omitzero"`        // promotion program link identifier
	SubID         Text `json:"SubId,omitzero"`         // feedback label
	OrderSn       Text `json:"OrderSn,omitzero"`       // order number
	ParentOrderSn Text `json:"ParentOrderSn,omitzero"` // parent order number(s)
	OrderTime     Text `json:"OrderTime,omitzero"`     // placement, [TimeLayout] in the account's zone

	OrdersPrice     Money `json:"OrdersPrice,omitzero"`     // estimated order amount, in Currency
	SiterCommission Money `json:"SiterCommission,omitzero"` // estimated commission, in Currency
	Currency        Text  `json:"Currency,omitzero"`        // currency of the estimate: CNY, USD

	Status                 Text  `json:"Status,omitzero"`                 // see [ParseSettlementStatus]
	ConfirmPrice           Money `json:"ConfirmPrice,omitzero"`           // confirmed amount, in ChargeCurrency
	ConfirmSiterCommission Money `json:"ConfirmSiterCommission,omitzero"` // confirmed commission, in ChargeCurrency
	ChargeCurrency         Text  `json:"ChargeCurrency,omitzero"`         // currency of the confirmed amounts
	ChargeTime             Text  `json:"ChargeTime,omitzero"`             // settlement, [TimeLayout] in the account's zone

	// Details holds the order lines. Nil means that the network sent none
	// (absent or null), which a list record may do; empty means no lines.
	Details []OrderLine `json:"Details,omitzero"`

	// Extra holds the fields that the specification does not know, as one JSON
	// object, nil when there are none.
	Extra jsontext.Value `json:",embed"`
}

// OrderLine is an element of Details (specification 2.3).
type OrderLine struct {
	GoodsCate       Text  `json:"GoodsCate,omitzero"`       // category as given by the merchant platform
	ItemCate        Text  `json:"ItemCate,omitzero"`        // category
	ItemCateName    Text  `json:"ItemCateName,omitzero"`    // category name, a number or text
	ItemID          Text  `json:"ItemId,omitzero"`          // product number
	ItemName        Text  `json:"ItemName,omitzero"`        // product name
	ItemPrice       Text  `json:"ItemPrice,omitzero"`       // unit price in yuan, always CNY; a string by the specification
	ItemCount       Text  `json:"ItemCount,omitzero"`       // number of items
	OrdersPrice     Money `json:"OrdersPrice,omitzero"`     // estimated line amount, in the order's Currency
	OrderStatus     Text  `json:"OrderStatus,omitzero"`     // the merchant platform's own status text
	OrderCommission Money `json:"OrderCommission,omitzero"` // estimated line commission, in the order's Currency
	OrderSn         Text  `json:"OrderSn,omitzero"`         // order number
	ParentOrderSn   Text  `json:"ParentOrderSn,omitzero"`   // parent or child order number
	ItemImg         Text  `json:"ItemImg,omitzero"`         // product image address
	ShopTitle       Text  `json:"ShopTitle,omitzero"`       // shop name
	LbOrderStatus   Text  `json:"LbOrderStatus,omitzero"`   // see [ParseLineStatus]

	// Extra holds the fields that the specification does not know, as one JSON
	// object, nil when there are none.
	Extra jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom reads an order as the network writes it: strings or
// numbers for scalars, unknown fields into Extra.
func (o *Order) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return o.UnmarshalJSON(raw)
}

// UnmarshalJSON serves encoding/json.
func (o *Order) UnmarshalJSON(b []byte) error {
	*o = Order{}
	return o.parse(b)
}

// Key returns the order's key within an account. Program and order number are
// copied, so that a key that is kept does not keep the whole record.
func (o *Order) Key(account string) OrderKey {
	own, n := o.ProgramID.value+o.OrderSn.value, len(o.ProgramID.value)
	return OrderKey{Account: account, Program: own[:n], OrderSn: own[n:]}
}

// Settlement returns the settlement status. The error says that the network
// sent none, or one that specification 3.1 does not list.
func (o *Order) Settlement() (SettlementStatus, error) {
	return ParseSettlementStatus(o.Status.value)
}

// Check reports what keeps the order out of the log: no order number, a text
// too long for a key, or an amount that decimal(10,2) cannot hold. Unknown
// statuses and unreadable times are no such reason.
func (o *Order) Check() error {
	if o.OrderSn.value == "" {
		return errors.New("OrderSn: missing, so the order has no key")
	}
	if err := errors.Join(ValidateString("OrderSn", o.OrderSn.value), ValidateString("ProgramId", o.ProgramID.value)); err != nil {
		return err
	}
	amounts := []struct {
		name string
		m    Money
	}{
		{"OrdersPrice", o.OrdersPrice}, {"SiterCommission", o.SiterCommission},
		{"ConfirmPrice", o.ConfirmPrice}, {"ConfirmSiterCommission", o.ConfirmSiterCommission},
	}
	for _, a := range amounts {
		if _, err := a.m.Cents(); err != nil {
			return fmt.Errorf("%s: %w", a.name, ErrAmountRange)
		}
	}
	for i := range o.Details {
		if err := o.Details[i].check(); err != nil {
			return fmt.Errorf("Details[%d].%w", i, err)
		}
	}
	return nil
}

func (l *OrderLine) check() error {
	if _, err := l.OrdersPrice.Cents(); err != nil {
		return fmt.Errorf("OrdersPrice: %w", ErrAmountRange)
	}
	if _, err := l.OrderCommission.Cents(); err != nil {
		return fmt.Errorf("OrderCommission: %w", ErrAmountRange)
	}
	return nil
}

// ParseTime reads a time field of an order, which is in the zone loc of its
// account. The error is [ErrNoTime] when the field holds none.
func ParseTime(t Text, loc *time.Location) (time.Time, error) {
	s := strings.TrimSpace(t.value)
	if s == "" || strings.HasPrefix(s, "0000-00-00") {
		return time.Time{}, ErrNoTime
	}
	return time.ParseInLocation(TimeLayout, s, loc)
}
