package network

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// recordWriter writes orders as the API shows them (specification 2.3): the
// same bytes in a list and in a detail. Every field is a string of its type,
// amounts have two decimal places, and a field without a value is absent, so a
// pending order has no ConfirmPrice, ConfirmSiterCommission, ChargeCurrency
// and ChargeTime.
type recordWriter struct {
	zone *time.Location // of OrderTime and ChargeTime
	// details includes the order lines.
	details bool
}

// append adds the order as a JSON object.
func (w recordWriter) append(b []byte, o *order) []byte {
	b = strconv.AppendInt(append(b, `{"Id":"`...), o.id, 10)
	b = appendText(append(b, '"'), "ProgramId", o.program)
	b = appendText(b, "ProgramName", o.programName)
	b = appendText(b, "WebsiteId", o.website)
	b = appendText(b, "LinkId", o.link)
	b = appendText(b, "SubId", o.subID)
	b = appendText(b, "OrderSn", o.sn)
	b = appendText(b, "ParentOrderSn", o.parentSn)
	b = w.time(b, "OrderTime", o.placed)
	b = appendAmount(b, "OrdersPrice", o.price)
	b = appendAmount(b, "SiterCommission", o.commission)
	b = appendText(b, "Currency", o.currency)
	b = appendText(b, "Status", o.status.Value())
	b = w.charge(b, o.charge)
	if w.details {
		b = append(append(b, `,"Details":`...), o.details...)
	}
	return append(b, '}')
}

func (w recordWriter) charge(b []byte, c charge) []byte {
	if c.at == 0 {
		return b
	}
	b = appendAmount(b, "ConfirmPrice", c.price)
	b = appendAmount(b, "ConfirmSiterCommission", c.commission)
	b = appendText(b, "ChargeCurrency", c.currency)
	return w.time(b, "ChargeTime", c.at)
}

func (w recordWriter) time(b []byte, name string, at int64) []byte {
	b = time.Unix(at, 0).In(w.zone).AppendFormat(appendName(b, name), schema.TimeLayout)
	return append(b, '"')
}

// appendName adds a comma, the name and the quote in front of a value.
func appendName(b []byte, name string) []byte {
	return append(append(append(b, `,"`...), name...), `":"`...)
}

func appendAmount(b []byte, name string, c cents) []byte {
	b = appendName(b, name)
	if c < 0 {
		b, c = append(b, '-'), -c
	}
	b = strconv.AppendInt(b, int64(c/100), 10)
	return append(b, '.', byte('0'+c/10%10), byte('0'+c%10), '"')
}

// appendText adds a text field unless it is empty. Text that is not UTF-8,
// which no way into the database lets through, is written with U+FFFD.
func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	b, _ = jsontext.AppendQuote(b, value) // reports only the invalid UTF-8
	return b
}
