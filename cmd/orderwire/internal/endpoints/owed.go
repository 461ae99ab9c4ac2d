package endpoints

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// Owed is what an endpoint is owed: the events of the log that it wants, and that
// neither its receiver has acknowledged nor its dead letters hold.
type Owed struct {
	Endpoint string `json:"endpoint"`
	Events   uint64 `json:"events"` // in the log, those of parked orders included
	// Oldest is the first of them, nil when nothing is owed.
	Oldest *OldestOwed `json:"oldest,omitzero"`

	ParkedOrders int    `json:"parked_orders"` // whose delivery has failed, those that are held included
	ParkedEvents uint64 `json:"parked_events"` // that they are owed, part of Events
	HeldOrders   int    `json:"held_orders"`   // parked until a person releases them
	// ParkedAgedOut counts the parked orders that are owed events which the log no
	// longer has. Those events are not in Events.
	ParkedAgedOut int `json:"parked_aged_out"`

	Floor       uint64 `json:"floor"`         // last sequence up to which all is settled; parked orders count as settled
	Last        uint64 `json:"last_sequence"` // newest event in the log
	Gap         *Gap   `json:"gap,omitzero"`
	DeadLetters uint64 `json:"dead_letters"` // events that were given up; they are not owed

	State  string    `json:"state"`           // StateActive and so on
	Reason string    `json:"reason,omitzero"` // of that, "" when none is known
	Since  time.Time `json:"since,omitzero"`  // of that, zero when it is not known
}

// OldestOwed is the oldest event that an endpoint is owed.
type OldestOwed struct {
	Sequence uint64    `json:"sequence"`
	Stored   time.Time `json:"stored"`      // when it came into the log
	Age      float64   `json:"age_seconds"` // since then
}

// Gap is a range that aged out of the log before an endpoint took it. Which of its
// events the endpoint wanted, the log cannot say any more.
type Gap struct {
	From   uint64 `json:"from"`
	Until  uint64 `json:"until"`
	Events uint64 `json:"events"` // those that were settled left out
}

// OwedLog is what the report needs of the log: [jetstream.Log] has it.
type OwedLog interface {
	pipeline.CursorStore
	// LoadParked gives all orders that an endpoint has parked.
	LoadParked(ctx context.Context, endpoint string, take func(pipeline.Parked)) error
	// CountDead counts those of an endpoint.
	CountDead(ctx context.Context, endpoint string) (uint64, error)
	// Bounds returns the sequences of the oldest and the newest event; first is
	// last + 1 when there is none.
	Bounds(ctx context.Context) (first, last uint64, err error)
	// Follow reads the log behind a sequence.
	Follow(ctx context.Context, after uint64) (<-chan *message.Message, error)
}

// OwedOptions say how the report is made.
type OwedOptions struct {
	// Skip is nats.skip_aged_out: what is missing up to there is no gap.
	Skip uint64
	// Now is the time that ages are counted to; zero means the present.
	Now time.Time
	// Step is told now and then how many of how many events were read; nil: none.
	Step func(done, total int64)
}

// ReadOwed reports what endpoints are owed, in their order, by one pass over the
// log for all of them. Beside couriers at work it is as of its beginning: what they
// deliver meanwhile may still be counted, and nothing that is owed is left out.
func ReadOwed(ctx context.Context, log OwedLog, webhooks []config.Webhook, o OwedOptions) ([]Owed, error) {
	tallies := make([]*tally, len(webhooks))
	for i := range webhooks {
		var err error
		if tallies[i], err = openTally(ctx, log, &webhooks[i]); err != nil {
			return nil, err
		}
	}
	first, last, err := log.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	pass := &pass{log: log, tallies: tallies, end: last, step: o.Step}
	if err := pass.run(ctx); err != nil {
		return nil, err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	all := make([]Owed, len(tallies))
	for i, a := range tallies {
		all[i] = a.close(first, last, o)
	}
	return all, nil
}

// openTally reads what is known of an endpoint. The cursor comes before the
// parked orders: an event that is parked in between is in both, and not in neither.
func openTally(ctx context.Context, log OwedLog, w *config.Webhook) (*tally, error) {
	endpoint, err := webhook.New(w.Endpoint(nil))
	if err != nil {
		return nil, err
	}
	a := newTally(w.Name, endpoint.Wants, w.Unordered)
	if a.cursor, _, err = pipeline.LoadEndpointCursor(ctx, log, w.Name); err != nil {
		return nil, err
	}
	if err := log.LoadParked(ctx, w.Name, a.park); err != nil {
		return nil, err
	}
	if a.DeadLetters, err = log.CountDead(ctx, w.Name); err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", w.Name, err)
	}
	stands := View{Name: w.Name}
	if err := stands.stand(ctx, log); err != nil {
		return nil, err
	}
	a.State, a.Reason, a.Since = stands.State, stands.Reason, stands.Since
	return a, nil
}
