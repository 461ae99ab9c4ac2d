package schema

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What follows is the reading and writing of orders and events by reflection,
// which the codecs of this package replaced. It defines what they do: see
// codec_test.go. The library's tags of Order and Event serve it alone.

type plainReference Order

// referenceOrder is an Order that the library reads and writes.
type referenceOrder Order

func (o referenceOrder) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, plainReference(o))
}

func (o *referenceOrder) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*o = referenceOrder{}
	return json.UnmarshalDecode(dec, (*plainReference)(o))
}

type referenceData struct {
	Account    string         `json:"account"`
	TimeZone   string         `json:"time_zone"`
	Version    uint64         `json:"version"`
	PreviousID string         `json:"previous_id,omitzero"`
	ObservedAt time.Time      `json:"observed_at"`
	Regression bool           `json:"regression,omitzero"`
	Order      referenceOrder `json:"order"`
	Changes    []Change       `json:"changes"`
}

type referenceEvent struct {
	SpecVersion     string        `json:"specversion"`
	ID              string        `json:"id"`
	Source          string        `json:"source"`
	Type            EventType     `json:"type"`
	Subject         string        `json:"subject"`
	Time            time.Time     `json:"time"`
	DataContentType string        `json:"datacontenttype"`
	Data            referenceData `json:"data"`

	Extensions jsontext.Value `json:",embed"`
}

func (e referenceEvent) event() Event {
	d := e.Data
	return Event{
		SpecVersion: e.SpecVersion, ID: e.ID, Source: e.Source, Type: e.Type, Subject: e.Subject, Time: e.Time,
		DataContentType: e.DataContentType, Extensions: e.Extensions,
		Data: Data{
			Account: d.Account, TimeZone: d.TimeZone, Version: d.Version, PreviousID: d.PreviousID, ObservedAt: d.ObservedAt,
			Regression: d.Regression, Order: Order(d.Order), Changes: d.Changes,
		},
	}
}

func asReference(e *Event) referenceEvent {
	d := e.Data
	return referenceEvent{
		SpecVersion: e.SpecVersion, ID: e.ID, Source: e.Source, Type: e.Type, Subject: e.Subject, Time: e.Time,
		DataContentType: e.DataContentType, Extensions: e.Extensions,
		Data: referenceData{
			Account: d.Account, TimeZone: d.TimeZone, Version: d.Version, PreviousID: d.PreviousID, ObservedAt: d.ObservedAt,
			Regression: d.Regression, Order: referenceOrder(d.Order), Changes: d.Changes,
		},
	}
}

func referenceParseOrder(raw []byte) (Order, error) {
	var o Order
	if err := json.Unmarshal(raw, (*plainReference)(&o)); err != nil {
		return Order{}, fmt.Errorf("order: %w", referenceFault(err))
	}
	return o, nil
}

func referenceReadEvent(raw []byte) (Event, error) {
	var r referenceEvent
	if err := json.Unmarshal(raw, &r); err != nil {
		return Event{}, referenceFault(err)
	}
	return r.event(), nil
}

func referenceParseEvent(raw []byte) (Event, error) {
	e, err := referenceReadEvent(raw)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return Event{}, fmt.Errorf("event: %w", err)
	}
	return e, nil
}

func referenceAppendOrder(o *Order) ([]byte, error) {
	return json.Marshal(plainReference(*o), json.Deterministic(true))
}

func referenceAppendEvent(e *Event) ([]byte, error) {
	return json.Marshal(asReference(e), json.Deterministic(true))
}

func referenceFault(err error) error {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		reason := "has the wrong type"
		if errors.Is(sem.Err, ErrAmount) {
			reason = ErrAmount.Error()
		}
		field := "the order"
		if sem.JSONPointer != "" {
			field = clip(string(sem.JSONPointer[1:]))
		}
		return fmt.Errorf("%s at byte %d: %s", field, sem.ByteOffset, reason)
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return fmt.Errorf("not valid JSON at byte %d", syn.ByteOffset)
	}
	return errors.New("not a JSON object of an order")
}
