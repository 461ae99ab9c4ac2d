package report

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// MostEvents bounds the events of an order that are read at once: the newest.
const MostEvents = 500

// Events is what a timeline reads of the log; see [jetstream.Log].
type Events interface {
	// Next returns an order's first event from a sequence on. With an error that
	// wraps [pipeline.ErrPoison], the entry has no event that can be read.
	Next(ctx context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error)
	// Load returns an order's last event, also when it has aged out.
	Load(ctx context.Context, key schema.OrderKey) (pipeline.State, error)
}

// History is what the log holds of an order's events, the oldest first. An entry
// whose message is no event has an Event without an ID.
type History struct {
	Entries []schema.Entry
	Cut     bool // there are more than [MostEvents], and the oldest of them are left out
	Aged    bool // the first events are in the log no longer; the archive has them
}

// Read reads the events of an order.
func Read(ctx context.Context, log Events, key schema.OrderKey) (h History, err error) {
	for from := uint64(1); ; {
		e, found, err := log.Next(ctx, key, from)
		if err != nil && !errors.Is(err, pipeline.ErrPoison) {
			return History{}, err
		}
		if !found {
			break
		}
		if err != nil {
			e.Event = schema.Event{}
		}
		if len(h.Entries) == MostEvents {
			h.Entries, h.Cut = h.Entries[1:], true
		}
		h.Entries, from = append(h.Entries, e), e.Sequence+1
	}
	h.Aged = !h.Cut && (len(h.Entries) == 0 || h.Entries[0].Event.Data.Version > 1)
	return h, nil
}

// Last returns the newest event that can be read, nil when the log knows no such
// order.
func (h *History) Last(ctx context.Context, log Events, key schema.OrderKey) (*schema.Event, error) {
	for i := len(h.Entries) - 1; i >= 0; i-- {
		if h.Entries[i].Event.ID != "" {
			return &h.Entries[i].Event, nil
		}
	}
	state, err := log.Load(ctx, key)
	if errors.Is(err, pipeline.ErrPoison) {
		return nil, nil
	}
	return state.Event, err
}

// Timeline is an order with its events.
type Timeline struct {
	Key      string        `json:"key"`
	Account  string        `json:"account"`
	TimeZone string        `json:"time_zone,omitzero"` // of the order's times
	Version  uint64        `json:"version"`            // of the newest event that can be read, 0 for none
	Vanished bool          `json:"vanished"`
	Order    *schema.Order `json:"order,omitzero"` // after that event, fields as the network names them
	Events   []Step        `json:"events"`         // the oldest first
	// Complete is false when there are older events than those of Events, which the
	// archive has.
	Complete bool `json:"complete"`
}

// Step is an event of an order.
type Step struct {
	Sequence   uint64           `json:"sequence"`
	Stored     time.Time        `json:"stored"`               // when it came into the log, UTC
	ID         string           `json:"id,omitzero"`          // absent when the message is no event
	Type       schema.EventType `json:"type,omitzero"`        // alike
	Version    uint64           `json:"version,omitzero"`     // alike
	ObservedAt time.Time        `json:"observed_at,omitzero"` // when the network answered so
	Regression bool             `json:"regression,omitzero"`
	Changes    []schema.Change  `json:"changes,omitempty"`
}

// TimelineOf reads an order and its events; nil when the log knows no such order.
func TimelineOf(ctx context.Context, log Events, key schema.OrderKey) (*Timeline, error) {
	h, err := Read(ctx, log, key)
	if err != nil {
		return nil, err
	}
	last, err := h.Last(ctx, log, key)
	if err != nil || last == nil && len(h.Entries) == 0 {
		return nil, err
	}
	t := &Timeline{Key: key.String(), Account: key.Account, Events: make([]Step, len(h.Entries)), Complete: !h.Cut && !h.Aged}
	if last != nil {
		d := &last.Data
		t.TimeZone, t.Version, t.Order, t.Vanished = d.TimeZone, d.Version, &d.Order, last.Type == schema.OrderVanished
	}
	for i := range h.Entries {
		t.Events[i] = stepOf(&h.Entries[i])
	}
	return t, nil
}

func stepOf(e *schema.Entry) Step {
	s := Step{Sequence: e.Sequence, Stored: e.Stored.UTC()}
	if e.Event.ID == "" {
		return s
	}
	d := &e.Event.Data
	s.ID, s.Type, s.Version, s.ObservedAt, s.Regression, s.Changes = e.Event.ID, e.Event.Type, d.Version, d.ObservedAt, d.Regression, d.Changes
	return s
}

// Table has a row for each change, and one for an event without any.
func (t *Timeline) Table() *Table {
	all := &Table{Header: []string{"sequence", "stored", "version", "type", "observed_at", "path", "from", "to"}, Value: t}
	for i := range t.Events {
		s := &t.Events[i]
		head := []string{number(s.Sequence), s.Stored.Format(time.RFC3339Nano), number(s.Version), string(s.Type), ""}
		if !s.ObservedAt.IsZero() {
			head[4] = s.ObservedAt.Format(time.RFC3339Nano)
		}
		changes := s.Changes
		if len(changes) == 0 {
			changes = []schema.Change{{}}
		}
		for _, c := range changes {
			all.Rows = append(all.Rows, append(head[:len(head):len(head)], c.Path, plain(c.From), plain(c.To)))
		}
	}
	return all
}

// plain returns the text of a JSON string, and any other value as JSON.
func plain(v jsontext.Value) string {
	var s string
	if len(v) == 0 || json.Unmarshal(v, &s) != nil {
		return string(v)
	}
	return s
}
