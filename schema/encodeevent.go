package schema

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the document to dst in compact form; Extensions come
// last. It is the form in which events are published. The error says which
// field is not valid UTF-8, no JSON or no time of RFC 3339, or repeats a field;
// dst then comes back as it was.
func (e *Event) AppendJSON(dst []byte) ([]byte, error) {
	w := encoder{b: slices.Grow(dst, e.size())}
	w.event(e)
	return w.result(dst)
}

// MarshalJSONTo writes the document in compact form.
func (e Event) MarshalJSONTo(enc *jsontext.Encoder) error {
	b, err := e.AppendJSON(enc.AvailableBuffer())
	if err != nil {
		return err
	}
	return enc.WriteValue(b)
}

// MarshalJSON serves encoding/json.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

func (w *encoder) event(e *Event) {
	f := eventFields.quoted
	w.b = append(w.b, '{')
	w.string(f[0], e.SpecVersion)
	w.string(f[1], e.ID)
	w.string(f[2], e.Source)
	w.string(f[3], string(e.Type))
	w.string(f[4], e.Subject)
	w.time(f[5], e.Time)
	w.string(f[6], e.DataContentType)
	w.member(f[7])
	w.data(&e.Data)
	if e.Extensions != nil {
		w.members("Extensions", e.Extensions, 1, eventFields, func(int) bool { return true })
	}
	w.b = append(w.b, '}')
}

func (w *encoder) data(d *Data) {
	f := dataFields.quoted
	w.b = append(w.b, '{')
	w.string(f[0], d.Account)
	w.string(f[1], d.TimeZone)
	w.member(f[2])
	w.b = strconv.AppendUint(w.b, d.Version, 10)
	if d.PreviousID != "" {
		w.string(f[3], d.PreviousID)
	}
	w.time(f[4], d.ObservedAt)
	if d.Regression {
		w.member(f[5])
		w.b = append(w.b, "true"...)
	}
	w.member(f[6])
	w.order(&d.Order, 2)
	w.member(f[7])
	w.changes(d.Changes)
	w.b = append(w.b, '}')
}

func (w *encoder) changes(changes []Change) {
	f := changeFields.quoted
	w.b = append(w.b, '[')
	for i := range changes {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		c, sound := &changes[i], w.err == nil
		w.b = append(w.b, '{')
		w.string(f[0], c.Path)
		if c.From != nil {
			w.raw(f[1], c.From, 4)
		}
		if c.To != nil {
			w.raw(f[2], c.To, 4)
		}
		w.b = append(w.b, '}')
		if sound && w.err != nil {
			w.err = fmt.Errorf("changes[%d].%w", i, w.err)
		}
	}
	w.b = append(w.b, ']')
}

// size returns about how many bytes the document takes.
func (e *Event) size() int {
	const names = 420 // what stands around the values, and the two times
	d := &e.Data
	n := names + len(e.ID) + len(e.Source) + len(e.Type) + len(e.Subject) + len(e.DataContentType) + len(e.Extensions)
	n += len(d.Account) + len(d.TimeZone) + len(d.PreviousID) + d.Order.size()
	for i := range d.Changes {
		c := &d.Changes[i]
		n += len(`{"path":"","from":,"to":},`) + len(c.Path) + len(c.From) + len(c.To)
	}
	return n
}
