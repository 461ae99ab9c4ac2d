package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// errType is the reason of a value of the wrong JSON type.
var errType = errors.New("has the wrong type")

// decoder reads one document. Texts are parts of one copy of the document, so
// that a record costs one allocation and not one for each field. A text that
// is kept long therefore keeps its record; see [Order.Key].
//
// Every method that reads returns false at the first fault, like those of
// scanner. depth is the number of objects and arrays that are open.
type decoder struct {
	scanner
	text   string // the document; its bytes are b's
	values []byte // room for the values of changes
	reason error  // what is wrong with the value at the fault, nil when the JSON is
	path   string // the field of the value, as a JSON Pointer without its first slash
}

func newDecoder(raw []byte) decoder {
	return decoder{scanner: scanner{b: raw}, text: string(raw)}
}

// fault returns the error of a reading that failed: where and what, but
// nothing of the content, because an order holds personal data.
func (d *decoder) fault() error {
	if d.reason == nil {
		return fmt.Errorf("not valid JSON at byte %d", d.at)
	}
	field := "the order"
	if d.path != "" {
		field = clip(d.path)
	}
	return fmt.Errorf("%s at byte %d: %w", field, d.at, d.reason)
}

// wrong sets a fault of the value that begins at start.
func (d *decoder) wrong(start int, reason error) bool {
	d.reason = reason
	return d.fail(start)
}

// wrongToken reports the type of the value at i. Of an object or array only
// the bracket is read.
func (d *decoder) wrongToken() bool {
	start := d.i
	if c := d.b[start]; c != '{' && c != '[' && !d.scalar() {
		return false
	}
	return d.wrong(start, errType)
}

// wrongValue reports the type of the value at i, after reading it whole.
func (d *decoder) wrongValue(depth int) bool {
	start := d.i
	return d.value(depth, whole) && d.wrong(start, errType)
}

// within puts the name of the object's member before the path of a fault.
func (d *decoder) within(name string) bool {
	switch {
	case d.reason == nil:
	case d.path == "":
		d.path = name
	default:
		d.path = name + "/" + d.path
	}
	return false
}

// more walks to the next of the members or elements of which n are read, or
// behind the bracket that closes them.
func (d *decoder) more(n int, bracket byte) (more, ok bool) {
	if n > 0 {
		return d.comma(bracket, steps)
	}
	if !d.space() {
		return false, false
	}
	if d.b[d.i] == bracket {
		d.i++
		return false, true
	}
	return true, true
}

// usual reports whether a comma and right behind it a member name follow, as in
// every compact document. It spares the call of more.
func (d *decoder) usual() bool {
	return d.i+1 < len(d.b) && d.b[d.i] == ',' && d.b[d.i+1] == '"'
}

// fields is a table of the members that a type knows.
type fields struct {
	names  []string // in the order in which they are written
	quoted []string // with quotes and colon
	marks  []mark   // the same
}

// mark tells a quoted name from others by its first and last bytes.
type mark struct {
	first, mask, last uint64 // the mask is for names of less than eight bytes
	size              int
}

func newFields(names ...string) *fields {
	f := &fields{names: names}
	for _, n := range names {
		q := `"` + n + `":`
		f.quoted = append(f.quoted, q)
		f.marks = append(f.marks, newMark([]byte(q)))
	}
	return f
}

func newMark(q []byte) mark {
	m := mark{size: len(q), mask: ^uint64(0)}
	if len(q) < 8 {
		m.mask = 1<<(8*len(q)) - 1
	}
	m.first = binary.LittleEndian.Uint64(append(slices.Clone(q), make([]byte, 8)...)) & m.mask
	if len(q) >= 8 {
		m.last = binary.LittleEndian.Uint64(q[len(q)-8:])
	}
	return m
}

// is reports whether b begins with the name q, whose mark it is. Names that
// are longer than two words have something between the first and the last.
func (m *mark) is(b []byte, q string) bool {
	if len(b) < m.size || len(b) < 8 || binary.LittleEndian.Uint64(b)&m.mask != m.first {
		return false
	}
	return m.size <= 8 || binary.LittleEndian.Uint64(b[m.size-8:]) == m.last && (m.size <= 16 || string(b[8:m.size-8]) == q[8:m.size-8])
}

// index returns the field that is called name, -1 when none is.
func (f *fields) index(name string) int {
	for i, known := range f.names {
		if known == name {
			return i
		}
	}
	return -1
}

// members is the state of reading one object.
type members struct {
	known *fields
	count int     // members that were read
	next  int     // the field that probably comes now
	seen  uint64  // fields that came
	other nameSet // names that known has not
	name  []byte  // quoted, of the member that was read last
}

// member walks to the object's next member, and reads its name and colon, up to
// the value. It returns the field, -1 for an unknown one; more is false behind
// the last member, and at a fault. Objects mostly come with their fields in the
// same order, so the name is looked for from the field before on.
func (d *decoder) member(m *members, depth int) (field int, more, ok bool) {
	if m.count > 0 && d.usual() {
		d.i++
	} else if more, ok = d.more(m.count, '}'); !more {
		return -1, false, ok
	}
	m.count++
	field, ok = d.name(m, depth)
	return field, ok, ok
}

// name reads the name at i and its colon.
func (d *decoder) name(m *members, depth int) (field int, ok bool) {
	rest, marks := d.b[d.i:], m.known.marks
	field = m.next
	for range marks {
		if field >= len(marks) {
			field = 0
		}
		if k := &marks[field]; k.is(rest, m.known.quoted[field]) {
			if !m.first(field) {
				return field, d.fail(d.i)
			}
			d.i += k.size
			return field, d.space()
		}
		field++
	}
	return d.otherMember(m, depth)
}

// first notes that the field came; false when it did before.
func (m *members) first(field int) bool {
	bit := uint64(1) << field
	repeated := m.seen&bit != 0
	m.seen |= bit
	m.next = field + 1
	return !repeated
}

// otherMember reads an unknown name, or a known one in an unusual writing.
func (d *decoder) otherMember(m *members, depth int) (field int, ok bool) {
	start := d.i
	if d.b[start] != '"' {
		return -1, d.value(depth, whole) && d.fail(start)
	}
	if !d.str() {
		return -1, false
	}
	m.name = d.b[start:d.i]
	name := d.text[start+1 : d.i-1]
	if d.escapes {
		name = string(unquote(m.name[1 : len(m.name)-1]))
	}
	field = m.known.index(name)
	if field >= 0 {
		ok = m.first(field)
	} else {
		ok = m.other.add(m.name, d.escapes)
	}
	if !ok {
		return field, d.fail(start)
	}
	return field, d.colon()
}

// inside walks the string at i and returns what it reads.
func (d *decoder) inside() (string, bool) {
	start := d.i
	if end := simple(d.b, start); end > 0 {
		d.i = end
		return d.text[start+1 : end-1], true
	}
	return d.unusual()
}

// unusual is inside for a string that is not simple.
func (d *decoder) unusual() (string, bool) {
	start := d.i
	switch {
	case !d.str():
		return "", false
	case d.escapes:
		return string(unquote(d.b[start+1 : d.i-1])), true
	default:
		return d.text[start+1 : d.i-1], true
	}
}
