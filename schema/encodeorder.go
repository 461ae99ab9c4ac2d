package schema

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the order to dst with the field names of the API, compact
// and without absent fields; Extra comes last. The error says which field is
// not valid UTF-8, or that Extra is no JSON object or repeats a field; dst then
// comes back as it was.
func (o *Order) AppendJSON(dst []byte) ([]byte, error) {
	e := encoder{b: slices.Grow(dst, o.size())}
	e.order(o, 0)
	return e.result(dst)
}

// AppendJSON appends the line to dst, like [Order.AppendJSON].
func (l *OrderLine) AppendJSON(dst []byte) ([]byte, error) {
	e := encoder{b: dst}
	e.line(l, 0)
	return e.result(dst)
}

// MarshalJSONTo writes the order with the field names of the API.
func (o Order) MarshalJSONTo(enc *jsontext.Encoder) error {
	b, err := o.AppendJSON(enc.AvailableBuffer())
	if err != nil {
		return err
	}
	return enc.WriteValue(b)
}

// MarshalJSON serves encoding/json.
func (o Order) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil) }

// order writes an order that stands inside depth objects and arrays.
func (e *encoder) order(o *Order, depth int) {
	e.b = append(e.b, '{')
	for i, quoted := range orderFields.quoted[:orderDetails] {
		if t := o.field(i); t.set {
			e.string(quoted, t.value)
		}
	}
	if o.Details != nil {
		e.member(orderFields.quoted[orderDetails])
		e.lines(o.Details, depth+1)
	}
	if o.Extra != nil {
		e.members("Extra", o.Extra, depth+1, orderFields, func(i int) bool {
			return i == orderDetails && o.Details != nil || i != orderDetails && o.field(i).set
		})
	}
	e.b = append(e.b, '}')
}

func (e *encoder) lines(lines []OrderLine, depth int) {
	e.b = append(e.b, '[')
	for i := range lines {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		sound := e.err == nil
		e.line(&lines[i], depth+1)
		if sound && e.err != nil {
			e.err = fmt.Errorf("Details[%d].%w", i, e.err)
		}
	}
	e.b = append(e.b, ']')
}

func (e *encoder) line(l *OrderLine, depth int) {
	e.b = append(e.b, '{')
	for i, quoted := range lineFields.quoted {
		if t := l.field(i); t.set {
			e.string(quoted, t.value)
		}
	}
	if l.Extra != nil {
		e.members("Extra", l.Extra, depth+1, lineFields, func(i int) bool { return l.field(i).set })
	}
	e.b = append(e.b, '}')
}

// size returns about how many bytes the order takes; more when much is escaped.
func (o *Order) size() int {
	n := len(`{"Details":[],}`) + len(o.Extra)
	for i, quoted := range orderFields.quoted[:orderDetails] {
		if t := o.field(i); t.set {
			n += len(quoted) + len(t.value) + len(`"",`)
		}
	}
	for i := range o.Details {
		n += o.Details[i].size()
	}
	return n
}

func (l *OrderLine) size() int {
	n := len(`{},`) + len(l.Extra)
	for i, quoted := range lineFields.quoted {
		if t := l.field(i); t.set {
			n += len(quoted) + len(t.value) + len(`"",`)
		}
	}
	return n
}
