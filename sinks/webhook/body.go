package webhook

import (
	"bytes"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
)

// ErrEvent marks a stored event from which no body can be made. No retry mends
// that, so its [DeliveryError] is permanent.
var ErrEvent = errors.New("stored event cannot be read")

// Message is the body of a delivery, for receivers in Go: they verify it with
// a [Verifier] and then decode it with any JSON package.
type Message struct {
	Type      schema.EventType `json:"type"`      // what happened
	Timestamp time.Time        `json:"timestamp"` // when the network answered with this state, UTC
	Data      MessageData      `json:"data"`
}

// MessageData is the data of an event with the event's id before it.
type MessageData struct {
	ID string `json:"id"` // id of the event, equal to webhook-id
	schema.Data
}

// storedEvent is what a body needs of a stored event, each value as it stands.
type storedEvent struct {
	ID   jsontext.Value `json:"id"`
	Type jsontext.Value `json:"type"`
	Time jsontext.Value `json:"time"`
	Data jsontext.Value `json:"data"`
}

// Body returns what a receiver gets for an event:
//
//	{"type":"status.changed","timestamp":"2026-03-01T08:00:00Z","data":{"id":"…","account":"main", … }}
//
// type is the event's type and timestamp its time. data is the data object of
// the stored event as it stands there (account, time_zone, version,
// previous_id, observed_at, regression, order, changes), with the event's id as
// its first member. The values are taken from e.Raw word for word and nothing
// else enters, so that every attempt has the same body, also after an update of
// Orderwire; see [Message] for how to read it. The error is [ErrEvent].
//
// An entry with an id is one that was read by [schema.ParseEvent]: its Raw is not
// checked a second time.
func Body(e *schema.Entry) ([]byte, error) {
	var s storedEvent
	if e.Event.ID == "" || !s.split(e.Raw, e.Event.Extensions != nil) {
		var err error
		if s, err = readStored(e.Raw); err != nil { // which may quote the event
			return nil, ErrEvent
		}
	}
	if s.ID.Kind() != '"' || s.Type.Kind() != '"' || s.Time.Kind() != '"' || s.Data.Kind() != '{' {
		return nil, ErrEvent
	}
	b := make([]byte, 0, len(e.Raw))
	b = append(append(b, `{"type":`...), s.Type...)
	b = append(append(b, `,"timestamp":`...), s.Time...)
	b = append(append(b, `,"data":{"id":`...), s.ID...)
	members := bytes.TrimSpace(s.Data[1:]) // what follows the opening brace
	if members[0] != '}' {
		b = append(b, ',')
	}
	return append(append(b, members...), '}'), nil
}

// readStored reads any document that is valid. It is apart from [Body], whose own
// storedEvent stays on the stack so.
func readStored(raw []byte) (s storedEvent, err error) {
	err = json.Unmarshal(raw, &s)
	return s, err
}
