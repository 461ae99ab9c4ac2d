package openapi

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

var errOrderObject = errors.New("want an object as an order")

// Glance is what is seen of an order without decoding it.
type Glance struct {
	// ProgramID and OrderSn are the texts of these members, a string's content
	// or a number as it is written; nil when the member is absent or holds
	// something else. They lie in the record or were copied out of it, and are
	// not to be changed.
	ProgramID, OrderSn []byte
	// HasLines tells that Details is a list.
	HasLines bool
}

// GlanceOrder looks at one order, the JSON object raw. The error is a
// [*BodyError] that says where the text is broken.
func GlanceOrder(raw jsontext.Value) (Glance, error) {
	s := scanner{b: raw}
	var g Glance
	if s.peek() != '{' {
		s.refuse(maxDepth, errOrderObject)
		return Glance{}, s.err
	}
	if s.order(maxDepth, &g) && s.end() {
		return g, nil
	}
	return Glance{}, s.err
}

// Glance returns what was seen of the record with this number. For a page that
// [Client.Orders] or [SplitOrders] made it costs nothing and cannot fail.
func (p *OrdersPage) Glance(i int) (Glance, error) {
	if i < len(p.glances) {
		return p.glances[i], nil
	}
	return GlanceOrder(p.Records[i])
}

// order walks the object at i and notes what a glance shows.
func (s *scanner) order(depth int, g *Glance) bool {
	if !s.opens(depth) {
		return false
	}
	if s.peek() == '}' {
		s.i++
		return true
	}
	for {
		s.peek()
		start := s.i
		if !s.name() || !s.orderMember(depth-1, s.b[start:s.i], g) {
			return false
		}
		if s.peek() != ',' {
			return s.closes('}')
		}
		s.i++
	}
}

// orderMember walks the value behind a name, which is still quoted.
func (s *scanner) orderMember(depth int, quoted []byte, g *Glance) bool {
	switch quoted[1] { // most names are ruled out by their first byte
	case 'P', 'O', 'D', '\\':
	default:
		return s.value(depth)
	}
	switch string(unquoteName(quoted)) {
	case "ProgramId":
		return s.scalarText(depth, &g.ProgramID)
	case "OrderSn":
		return s.scalarText(depth, &g.OrderSn)
	case "Details":
		g.HasLines = s.peek() == '['
	}
	return s.value(depth)
}

// scalarText walks a value and keeps the text of a string or number.
func (s *scanner) scalarText(depth int, into *[]byte) bool {
	raw, ok := s.span(depth)
	switch {
	case !ok:
		return false
	case raw[0] != '"' && raw[0] != '-' && !isDigit(raw[0]):
		return true
	case raw[0] != '"':
		*into = raw
	case bytes.IndexByte(raw, '\\') < 0:
		*into = raw[1 : len(raw)-1]
	default:
		*into = unquote(raw)
	}
	return true
}
