package schema

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	eventFields  = newFields("specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data")
	dataFields   = newFields("account", "time_zone", "version", "previous_id", "observed_at", "regression", "order", "changes")
	changeFields = newFields("path", "from", "to")
)

// ParseEvent reads an event document and checks what every reader relies on:
// version, type, key and id agree. The error names the field, never its
// content. raw is copied, once and whole: a text of the event that outlives it
// should be cloned. The id is a copy of its own.
func ParseEvent(raw []byte) (Event, error) {
	var e Event
	if err := e.parse(raw); err != nil {
		return Event{}, fmt.Errorf("event: %w", err)
	}
	if err := e.check(); err != nil {
		return Event{}, fmt.Errorf("event: %w", err)
	}
	return e, nil
}

func (e *Event) parse(raw []byte) error {
	d := newDecoder(raw)
	if d.space() && d.event(e) && d.end() {
		return nil
	}
	return d.fault()
}

// event reads the event at i. A null leaves it as it is, empty; so it is with
// the parts.
func (d *decoder) event(e *Event) bool {
	if d.b[d.i] != '{' {
		return d.nullOrWrong()
	}
	d.i++
	m := members{known: eventFields}
	for {
		field, more, ok := d.member(&m, 1)
		if !more {
			return ok
		}
		switch {
		case field < 0:
			ok = d.extra(&e.Extensions, m.name, 1)
		default:
			ok = d.eventField(e, field) || d.within(eventFields.names[field])
		}
		if !ok {
			return false
		}
	}
}

func (d *decoder) eventField(e *Event, field int) bool {
	switch field {
	case 0:
		return d.string(&e.SpecVersion, 1)
	case 1:
		return d.string(&e.ID, 1)
	case 2:
		return d.string(&e.Source, 1)
	case 3:
		return d.string((*string)(&e.Type), 1)
	case 4:
		return d.string(&e.Subject, 1)
	case 5:
		return d.time(&e.Time, 1)
	case 6:
		return d.string(&e.DataContentType, 1)
	default:
		return d.data(&e.Data)
	}
}

func (d *decoder) data(v *Data) bool {
	if d.b[d.i] != '{' {
		return d.nullOrWrong()
	}
	d.i++
	m := members{known: dataFields}
	for {
		field, more, ok := d.member(&m, 2)
		if !more {
			return ok
		}
		switch {
		case field < 0:
			ok = d.value(2, steps)
		default:
			ok = d.dataField(v, field) || d.within(dataFields.names[field])
		}
		if !ok {
			return false
		}
	}
}

func (d *decoder) dataField(v *Data, field int) bool {
	switch field {
	case 0:
		return d.string(&v.Account, 2)
	case 1:
		return d.string(&v.TimeZone, 2)
	case 2:
		return d.version(&v.Version)
	case 3:
		return d.string(&v.PreviousID, 2)
	case 4:
		return d.time(&v.ObservedAt, 2)
	case 5:
		return d.bool(&v.Regression)
	case 6:
		return d.order(&v.Order, 2)
	default:
		return d.changes(&v.Changes)
	}
}

func (d *decoder) changes(changes *[]Change) bool {
	if d.b[d.i] != '[' {
		return d.nullOrWrong()
	}
	d.i++
	var few [4]Change
	all := few[:0]
	for n := 0; ; n++ {
		more, ok := d.more(n, ']')
		if !ok {
			return false
		}
		if !more {
			*changes = append(make([]Change, 0, n), all...)
			return true
		}
		all = append(all, Change{})
		if !d.change(&all[n]) {
			return d.within(strconv.Itoa(n))
		}
	}
}

func (d *decoder) change(c *Change) bool {
	if d.b[d.i] != '{' {
		return d.nullOrWrong()
	}
	d.i++
	m := members{known: changeFields}
	for {
		field, more, ok := d.member(&m, 4)
		if !more {
			return ok
		}
		switch {
		case field < 0:
			ok = d.value(4, steps)
		case field == 0:
			ok = d.string(&c.Path, 4) || d.within("path")
		case field == 1:
			ok = d.raw(&c.From)
		default:
			ok = d.raw(&c.To)
		}
		if !ok {
			return false
		}
	}
}

// raw copies the value at i, of a change. The values of an event share one
// array, with no room between them to append to.
func (d *decoder) raw(v *jsontext.Value) bool {
	start := d.i
	if !d.value(4, whole) {
		return false
	}
	if n := len(d.values); n == 0 || cap(d.values)-n < d.i-start {
		d.values = make([]byte, 0, len(d.b)-start) // the changes come last
	}
	n := len(d.values)
	d.values = append(d.values, d.b[start:d.i]...)
	*v = d.values[n:len(d.values):len(d.values)]
	return true
}

func (d *decoder) string(v *string, depth int) bool {
	switch d.b[d.i] {
	case '"':
		text, ok := d.inside()
		*v = text
		return ok
	case 'n':
		return d.literal("null")
	default:
		return d.wrongValue(depth)
	}
}

// version reads a number without fraction, sign or exponent.
func (d *decoder) version(v *uint64) bool {
	start := d.i
	switch c := d.b[start]; {
	case c == 'n':
		return d.literal("null")
	case c != '-' && !isDigit(c):
		return d.wrongValue(2)
	case !d.number():
		return false
	}
	n, err := strconv.ParseUint(d.text[start:d.i], 10, 64)
	if err != nil {
		return d.wrong(start, errType)
	}
	*v = n
	return true
}

func (d *decoder) bool(v *bool) bool {
	switch d.b[d.i] {
	case 't':
		*v = true
		return d.literal("true")
	case 'f':
		return d.literal("false")
	default:
		return d.nullOrWrong()
	}
}

// time reads a time in RFC 3339.
func (d *decoder) time(v *time.Time, depth int) bool {
	start := d.i
	switch {
	case d.b[start] == 'n':
		return d.literal("null")
	case d.b[start] != '"':
		return d.wrongValue(depth)
	case !d.str():
		return false
	}
	text := d.b[start+1 : d.i-1]
	if d.escapes {
		text = unquote(text)
	}
	if err := v.UnmarshalText(text); err != nil || !strictTime(text) {
		return d.wrong(start, errType)
	}
	return true
}

// strictTime reports whether a text that package time reads is one that
// RFC 3339 allows: two digits for the hour, a point before the decimals, and a
// zone within a day.
func strictTime(b []byte) bool {
	const hour, decimals, zone = len("2006-01-02T"), len("2006-01-02T15:04:05"), len("07:00")
	switch {
	case b[hour+1] == ':' || b[decimals] == ',':
		return false
	case b[len(b)-1] == 'Z':
		return true
	default:
		z := b[len(b)-zone:]
		return (z[0]-'0')*10+z[1]-'0' < 24 && (z[3]-'0')*10+z[4]-'0' < 60
	}
}
