package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ContentType is the media type of an event document (CloudEvents 1.0, JSON
// event format, structured mode).
const ContentType = "application/cloudevents+json"

// SpecVersion is the CloudEvents version of every event.
const SpecVersion = "1.0"

// EventType says what happened to an order.
type EventType string

// The event types of the log.
const (
	// OrderCreated is the first sight of an order, always version 1.
	OrderCreated EventType = "order.created"
	// StatusChanged is a change of the settlement status or of a line's
	// LbOrderStatus, with whatever else changed at the same time.
	StatusChanged EventType = "status.changed"
	// OrderUpdated is a change of amounts or other fields alone.
	OrderUpdated EventType = "order.updated"
	// OrderVanished says that the network no longer knows the order; Order
	// holds its last known state.
	OrderVanished EventType = "order.vanished"
)

var eventTypes = []EventType{OrderCreated, StatusChanged, OrderUpdated, OrderVanished}

// Token returns the last token of the subject of events of this type, "" for
// an unknown type.
func (t EventType) Token() string {
	switch t {
	case OrderCreated:
		return "created"
	case StatusChanged:
		return "status_changed"
	case OrderUpdated:
		return "updated"
	case OrderVanished:
		return "vanished"
	default:
		return ""
	}
}

// ParseEventToken reverses [EventType.Token]. The error wraps [ErrSubject].
func ParseEventToken(token string) (EventType, error) {
	for _, t := range eventTypes {
		if t.Token() == token {
			return t, nil
		}
	}
	return "", fmt.Errorf("%w: no event is called %q", ErrSubject, clip(token))
}

// Event is a CloudEvents 1.0 document about one change of one order.
type Event struct {
	SpecVersion     string    `json:"specversion"`     // "1.0"
	ID              string    `json:"id"`              // see [EventID]; also the Nats-Msg-Id
	Source          string    `json:"source"`          // "/orderwire/" and the account
	Type            EventType `json:"type"`            // what happened
	Subject         string    `json:"subject"`         // see [OrderKey.String]
	Time            time.Time `json:"time"`            // ObservedAt
	DataContentType string    `json:"datacontenttype"` // "application/json"
	Data            Data      `json:"data"`

	// Extensions holds CloudEvents attributes that Orderwire does not know, as
	// one JSON object, nil when there are none.
	Extensions jsontext.Value `json:",embed"`
}

// Data is the payload of an event.
type Data struct {
	// Account is the name of the account whose credentials saw the order.
	Account string `json:"account"`
	// TimeZone is the IANA zone of the order's time fields.
	TimeZone string `json:"time_zone"`
	// Version counts the events of the order: 1, 2, 3 … without a gap.
	Version uint64 `json:"version"`
	// PreviousID is the id of the order's event before this one, "" at version 1.
	PreviousID string `json:"previous_id,omitzero"`
	// ObservedAt is when the network answered with this state, in UTC.
	ObservedAt time.Time `json:"observed_at"`
	// Regression marks a status that went backwards.
	Regression bool `json:"regression,omitzero"`
	// Order is the whole order after the change.
	Order Order `json:"order"`
	// Changes rebuilds the order before; empty at version 1.
	Changes []Change `json:"changes"`
}

// Change is one difference between two states of an order.
type Change struct {
	// Path is the JSON Pointer (RFC 6901) of the field in the order, "/Status"
	// or "/Details/0/LbOrderStatus". When lines came, went or moved, it is
	// "/Details" and the values are the whole lists.
	Path string `json:"path"`
	// From is the JSON value before, nil when the field was absent.
	From jsontext.Value `json:"from,omitzero"`
	// To is the JSON value after, nil when the field is absent now.
	To jsontext.Value `json:"to,omitzero"`
}

// UnmarshalJSONFrom reads a document without judging it; see [ParseEvent].
func (e *Event) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return e.UnmarshalJSON(raw)
}

// UnmarshalJSON serves encoding/json.
func (e *Event) UnmarshalJSON(b []byte) error {
	*e = Event{}
	return e.parse(b)
}

// EventID returns the deterministic id of version v of an order: 32
// hexadecimal digits of a SHA-256 over account, program, order number and
// version. Two writers that see the same change therefore name it alike.
func EventID(k OrderKey, v uint64) string {
	b := make([]byte, 0, 128)
	for _, s := range []string{k.Account, k.Program, k.OrderSn} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, v))
	return hex.EncodeToString(sum[:16])
}

// NewEvent completes an event from its type and data: identity, source,
// subject and time follow from them.
func NewEvent(t EventType, d Data) Event {
	k := d.Order.Key(d.Account)
	d.ObservedAt = d.ObservedAt.UTC()
	if d.Changes == nil {
		d.Changes = []Change{}
	}
	if d.Version > 1 {
		d.PreviousID = EventID(k, d.Version-1)
	}
	return Event{
		SpecVersion: SpecVersion, ID: EventID(k, d.Version), Source: "/orderwire/" + EscapeToken(d.Account),
		Type: t, Subject: k.String(), Time: d.ObservedAt, DataContentType: "application/json", Data: d,
	}
}

// Key returns the key of the event's order. Its texts are copied, like those
// of [Order.Key].
func (e *Event) Key() OrderKey { return e.Data.Order.Key(strings.Clone(e.Data.Account)) }

// check also replaces the id by an equal one that keeps no document.
func (e *Event) check() error {
	switch {
	case e.SpecVersion != SpecVersion:
		return fmt.Errorf("specversion is not %s", SpecVersion)
	case e.Type.Token() == "":
		return fmt.Errorf("type %q is unknown", clip(string(e.Type)))
	case e.Data.Version == 0:
		return errors.New("data.version is missing")
	case e.Data.Account == "" || e.Data.Order.OrderSn.value == "":
		return errors.New("data has no account or no order number")
	}
	o := &e.Data.Order
	id := EventID(OrderKey{Account: e.Data.Account, Program: o.ProgramID.value, OrderSn: o.OrderSn.value}, e.Data.Version)
	if e.ID != id {
		return errors.New("id does not belong to the order and version")
	}
	e.ID = id
	return nil
}

// Entry is an event with its place in the log.
type Entry struct {
	Sequence uint64    // stream sequence, from 1, ascending
	Stored   time.Time // when the server stored it (broker time), UTC
	Subject  string    // subject it was published to
	Raw      []byte    // the event document as stored; not to be changed
	Event    Event     // Raw, parsed
	Trace    string    // W3C traceparent under which it was published, "" for none
}
