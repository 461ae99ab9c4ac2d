package archive

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a machine without zones would leave the times of all orders untyped

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// source is the entry that is being taken apart, and what its columns share.
type source struct {
	entry  *schema.Entry
	event  *schema.Event
	order  *schema.Order
	line   *schema.OrderLine // while a line is taken
	change *schema.Change    // while a change is taken
	status status            // of the order, or of the line while it is taken

	zone    *time.Location // of the order's times, nil when the event names none that is known
	zones   zones
	at      int    // place of line in Details, -1 for the fields of the order itself
	untyped []byte // members of the JSON object of the untyped column, each behind a comma
}

func (s *source) begin(e *schema.Entry) {
	s.entry, s.event, s.order = e, &e.Event, &e.Event.Data.Order
	s.at, s.untyped = -1, s.untyped[:0]
	s.zone = s.zones.find(s.event.Data.TimeZone)
	s.status = readStatus(s, "Status", s.order.Status, plainSettlement, schema.ParseSettlementStatus)
}

// end lets go of the entry.
func (s *source) end() {
	s.entry, s.event, s.order, s.line, s.change = nil, nil, nil, nil, nil
}

func (s *source) beginLine(i int) {
	s.at, s.line = i, &s.order.Details[i]
	s.status = readStatus(s, "LbOrderStatus", s.line.LbOrderStatus, plainLine, schema.ParseLineStatus)
}

// keep adds a text to the untyped column.
func (s *source) keep(field, text string) {
	s.untyped = append(s.untyped, ',')
	s.untyped = quote(s.untyped, fieldName(s.at, field))
	s.untyped = append(s.untyped, ':')
	s.untyped = quote(s.untyped, text)
}

// fieldName returns what the untyped column calls a field of line i, or of the
// order itself when i is -1.
func fieldName(i int, field string) string {
	if i < 0 {
		return field
	}
	return "Details/" + strconv.Itoa(i) + "/" + field
}

func quote(dst []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(dst, s)
	if err != nil { // not UTF-8, which a text out of a JSON document is not
		return append(dst, `""`...)
	}
	return quoted
}

// putUntyped hands over what keep has collected.
func (s *source) putUntyped(c *column) {
	if len(s.untyped) == 0 {
		c.null()
		return
	}
	s.untyped[0] = '{'
	s.untyped = append(s.untyped, '}')
	c.json(s.untyped)
}

// zones remembers the time zones that events have named; nil for a name that is
// unknown.
type zones map[string]*time.Location

func (z zones) find(name string) *time.Location {
	zone, seen := z[name]
	if !seen {
		zone = loadZone(name)
		z[strings.Clone(name)] = zone
	}
	return zone
}

// loadZone refuses the two names that do not mean the same everywhere.
func loadZone(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}
