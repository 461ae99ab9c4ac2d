package schema

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseOrder reads one order from the bytes of an answer. The error names the
// field, never its content. raw is copied, once and whole: a text of the order
// that outlives it should be cloned.
func ParseOrder(raw []byte) (Order, error) {
	var o Order
	if err := o.parse(raw); err != nil {
		return Order{}, fmt.Errorf("order: %w", err)
	}
	return o, nil
}

func (o *Order) parse(raw []byte) error {
	d := newDecoder(raw)
	if d.space() && d.order(o, 0) && d.end() {
		return nil
	}
	return d.fault()
}

// Places of the fields in the tables. The amounts are told apart by a mask.
const (
	orderDetails = 17
	orderAmounts = 1<<9 | 1<<10 | 1<<13 | 1<<14
	lineAmounts  = 1<<7 | 1<<9
)

var orderFields = newFields("Id", "ProgramId", "ProgramName", "WebsiteId", "LinkId", "SubId", "OrderSn", "ParentOrderSn", "OrderTime",
	"OrdersPrice", "SiterCommission", "Currency", "Status", "ConfirmPrice", "ConfirmSiterCommission", "ChargeCurrency", "ChargeTime", "Details")

var lineFields = newFields("GoodsCate", "ItemCate", "ItemCateName", "ItemId", "ItemName", "ItemPrice", "ItemCount", "OrdersPrice", "OrderStatus",
	"OrderCommission", "OrderSn", "ParentOrderSn", "ItemImg", "ShopTitle", "LbOrderStatus")

// field returns the text of a field of orderFields before Details.
func (o *Order) field(i int) *Text {
	switch i {
	case 0:
		return &o.ID
	case 1:
		return &o.ProgramID
	case 2:
		return &o.ProgramName
	case 3:
		return &o.WebsiteID
	case 4:
		return &o.LinkID
	case 5:
		return &o.SubID
	case 6:
		return &o.OrderSn
	case 7:
		return &o.ParentOrderSn
	case 8:
		return &o.OrderTime
	case 9:
		return &o.OrdersPrice.text
	case 10:
		return &o.SiterCommission.text
	case 11:
		return &o.Currency
	case 12:
		return &o.Status
	case 13:
		return &o.ConfirmPrice.text
	case 14:
		return &o.ConfirmSiterCommission.text
	case 15:
		return &o.ChargeCurrency
	default:
		return &o.ChargeTime
	}
}

// field returns the text of a field of lineFields.
func (l *OrderLine) field(i int) *Text {
	switch i {
	case 0:
		return &l.GoodsCate
	case 1:
		return &l.ItemCate
	case 2:
		return &l.ItemCateName
	case 3:
		return &l.ItemID
	case 4:
		return &l.ItemName
	case 5:
		return &l.ItemPrice
	case 6:
		return &l.ItemCount
	case 7:
		return &l.OrdersPrice.text
	case 8:
		return &l.OrderStatus
	case 9:
		return &l.OrderCommission.text
	case 10:
		return &l.OrderSn
	case 11:
		return &l.ParentOrderSn
	case 12:
		return &l.ItemImg
	case 13:
		return &l.ShopTitle
	default:
		return &l.LbOrderStatus
	}
}

// order reads the order at i. A null leaves it as it is, empty.
func (d *decoder) order(o *Order, depth int) bool {
	if d.b[d.i] != '{' {
		return d.nullOrWrong()
	}
	d.i++
	m := members{known: orderFields}
	for {
		field, more, ok := d.member(&m, depth+1)
		if !more {
			return ok
		}
		switch {
		case field < 0:
			ok = d.extra(&o.Extra, m.name, depth+1)
		case field == orderDetails:
			ok = d.lines(&o.Details, depth+1) || d.within("Details")
		default:
			ok = d.textOrAmount(o.field(field), orderAmounts>>field&1 != 0) || d.within(orderFields.names[field])
		}
		if !ok {
			return false
		}
	}
}

// lines reads the list of lines at i. Null is no list.
func (d *decoder) lines(lines *[]OrderLine, depth int) bool {
	if d.b[d.i] != '[' {
		return d.nullOrWrong()
	}
	d.i++
	var few [4]OrderLine // most orders have no more, and then get what they need
	all := few[:0]
	for n := 0; ; n++ {
		more, ok := d.more(n, ']')
		if !ok {
			return false
		}
		if !more {
			*lines = append(make([]OrderLine, 0, n), all...)
			return true
		}
		all = append(all, OrderLine{})
		if !d.line(&all[n], depth+1) {
			return d.within(strconv.Itoa(n))
		}
	}
}

func (d *decoder) line(l *OrderLine, depth int) bool {
	if d.b[d.i] != '{' {
		return d.nullOrWrong()
	}
	d.i++
	m := members{known: lineFields}
	for {
		field, more, ok := d.member(&m, depth+1)
		if !more {
			return ok
		}
		switch {
		case field < 0:
			ok = d.extra(&l.Extra, m.name, depth+1)
		default:
			ok = d.textOrAmount(l.field(field), lineAmounts>>field&1 != 0) || d.within(lineFields.names[field])
		}
		if !ok {
			return false
		}
	}
}

// nullOrWrong reads a null, or reports the type of another value.
func (d *decoder) nullOrWrong() bool {
	if d.b[d.i] == 'n' {
		return d.literal("null")
	}
	return d.wrongToken()
}

// textOrAmount reads a JSON string, number (its text is kept as it stands),
// boolean or null.
func (d *decoder) textOrAmount(t *Text, amount bool) bool {
	start := d.i
	switch d.b[start] {
	case '"':
		if end := simple(d.b, start); end > 0 {
			t.value, d.i = d.text[start+1:end-1], end
		} else if v, ok := d.unusual(); ok {
			t.value = v
		} else {
			return false
		}
		t.set = true
	case '{', '[':
		return d.wrong(start, errType)
	case 'n':
		return d.literal("null")
	default:
		if !d.scalar() {
			return false
		}
		t.value, t.set = d.text[start:d.i], true
	}
	if amount && !usualDecimal(t.value) && t.value != "" && !plainDecimal(t.value) {
		return d.wrong(start, ErrAmount)
	}
	return true
}

// extra reads an unknown member into *all, which is an object of such members.
func (d *decoder) extra(all *jsontext.Value, name []byte, depth int) bool {
	start := d.i
	if !d.value(depth, whole) {
		return false
	}
	b := *all
	if len(b) == 0 {
		b = make(jsontext.Value, 0, len(name)+d.i-start+3)
		b = append(b, '{')
	} else {
		b[len(b)-1] = ','
	}
	b = append(append(b, name...), ':')
	b = append(append(b, d.b[start:d.i]...), '}')
	*all = b
	return true
}
