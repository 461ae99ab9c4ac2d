package network

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// A record is an order as the API shows it (specification 2.3): the same bytes
// in a list and in a detail. Every field is a string of its type, amounts have
// two decimal places, and a field without a value is absent, so a pending order
// has no ConfirmPrice, ConfirmSiterCommission, ChargeCurrency and ChargeTime.
//
// It is stored with the order, in two parts: the head, which is all but the
// order lines and the closing brace, and the lines. In a head a time is
// timeMark and Unix seconds, because its zone is a setting of the service.
// Nothing else in JSON can hold that byte.
const timeMark = '\x1f'

// appendHead adds the head of the order's record.
func appendHead(b []byte, o *order) []byte {
	b = strconv.AppendInt(append(b, `{"Id":"`...), o.id, 10)
	b = appendText(append(b, '"'), "ProgramId", o.program)
	b = appendText(b, "ProgramName", o.programName)
	b = appendText(b, "WebsiteId", o.website)
	b = appendText(b, "LinkId", o.link)
	b = appendText(b, "SubId", o.subID)
	b = appendText(b, "OrderSn", o.sn)
	b = appendText(b, "ParentOrderSn", o.parentSn)
	b = appendTime(b, "OrderTime", o.placed)
	b = appendAmount(b, "OrdersPrice", o.price)
	b = appendAmount(b, "SiterCommission", o.commission)
	b = appendText(b, "Currency", o.currency)
	b = appendText(b, "Status", o.status.Value())
	return appendCharge(b, o.charge)
}

func appendCharge(b []byte, c charge) []byte {
	if c.at == 0 {
		return b
	}
	b = appendAmount(b, "ConfirmPrice", c.price)
	b = appendAmount(b, "ConfirmSiterCommission", c.commission)
	b = appendText(b, "ChargeCurrency", c.currency)
	return appendTime(b, "ChargeTime", c.at)
}

func appendTime(b []byte, name string, at int64) []byte {
	b = strconv.AppendInt(append(appendName(b, name), timeMark), at, 10)
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

// recordWriter writes stored records as the API shows them.
type recordWriter struct {
	zone *time.Location // of OrderTime and ChargeTime
	// details includes the order lines.
	details bool
}

// append adds the record of a head and the order lines.
func (w recordWriter) append(b []byte, head, lines string) []byte {
	for {
		mark := strings.IndexByte(head, timeMark)
		if mark < 0 {
			break
		}
		b, head = append(b, head[:mark]...), head[mark+1:]
		end := max(strings.IndexByte(head, '"'), 0)
		b, head = w.appendClock(b, head[:end]), head[end:]
	}
	b = append(b, head...)
	if w.details {
		b = append(append(b, `,"Details":`...), lines...)
	}
	return append(b, '}')
}

// appendClock adds Unix seconds as the time in the zone.
func (w recordWriter) appendClock(b []byte, seconds string) []byte {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return append(b, seconds...) // not of our writing
	}
	return time.Unix(at, 0).In(w.zone).AppendFormat(b, schema.TimeLayout)
}
