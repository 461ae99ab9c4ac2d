package line

import (
	"context"
	"sync"
	"time"

	"github.com/orderwire/orderwire/pipeline"
)

// Kinds of work.
const (
	accountKind  = "account"
	sinkKind     = "sink"
	endpointKind = "endpoint"
)

// Delivery tells how an endpoint is.
type Delivery struct {
	State   State  `json:"state"`
	Reason  string `json:"reason,omitzero"` // why it is paused or disabled
	Parked  int    `json:"parked"`          // orders that are parked durably
	Waiting int    `json:"waiting"`         // deliveries that wait for another attempt, parked orders included
	// Oldest is when the oldest event that is not delivered came into the log,
	// whatever holds it up; it may be one that the endpoint does not want, as long
	// as that was not taken from the log. Zero means that nothing is owed.
	Oldest   time.Time `json:"oldest_undelivered,omitzero"`
	Rate     float64   `json:"rate,omitzero"` // attempts a second that it may have at present; 0 means no limit
	Attempts Attempts  `json:"attempts"`
}

// Attempts counts what this process has tried since its start, by the outcome.
type Attempts struct {
	Delivered uint64 `json:"delivered"`
	Failed    uint64 `json:"failed"`   // to be tried again
	GivenUp   uint64 `json:"given_up"` // the event is in the dead letters
}

// attemptCounts are those of endpoints, by name.
type attemptCounts struct {
	mu sync.Mutex
	by map[string]Attempts
}

func (c *attemptCounts) add(a *pipeline.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = make(map[string]Attempts)
	}
	n := c.by[a.Endpoint]
	switch a.Outcome {
	case pipeline.OutcomeDelivered:
		n.Delivered++
	case pipeline.OutcomeFailed:
		n.Failed++
	case pipeline.OutcomeGivenUp:
		n.GivenUp++
	}
	c.by[a.Endpoint] = n
}

func (c *attemptCounts) of(endpoint string) Attempts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[endpoint]
}

// attempted records and counts an attempt.
func (l *Line) attempted(a pipeline.Attempt) {
	l.attempts.Record(a)
	l.counts.add(&a)
}

// State is whether an endpoint gets deliveries.
type State string

// The states of an endpoint.
const (
	Active   State = "active"
	Paused   State = "paused"   // by a person
	Disabled State = "disabled" // until a person resumes it
	Broken   State = "broken"   // it fails throughout, and is probed
)

// States returns all of them.
func States() []State { return []State{Active, Paused, Disabled, Broken} }

// delivery fills in what an endpoint's courier knows, and how long it owes.
func (l *Line) delivery(ctx context.Context, s *Sink, at pipeline.Progress, last uint64) error {
	d := &Delivery{
		State: Active, Parked: at.Delivery.Parked, Waiting: at.Delivery.Waiting,
		Oldest: at.Delivery.Oldest, Rate: at.Delivery.Rate, Attempts: l.counts.of(s.Name),
	}
	switch {
	case at.Delivery.Paused:
		d.State, d.Reason = Paused, at.Delivery.Reason
	case at.Delivery.Disabled != "":
		d.State, d.Reason = Disabled, at.Delivery.Disabled
	case at.Delivery.Broken:
		d.State = Broken
	}
	s.Delivery = d
	return l.oldest(ctx, s, last)
}

// oldest asks the log for the first event behind the position. The courier's own
// picture is that of its last change: an event that came since may hang in its
// first attempt, or was not taken from the log at all.
func (l *Line) oldest(ctx context.Context, s *Sink, last uint64) error {
	if s.Position == 0 { // it has not begun, or could not
		c, _, err := pipeline.LoadEndpointCursor(ctx, l.orders, s.Name)
		if err != nil {
			return err
		}
		s.Position = c.Floor
	}
	if s.Position >= last {
		return nil
	}
	seq, stored, err := l.orders.StoredBehind(ctx, s.Position)
	if err != nil {
		return err
	}
	if seq != 0 && (s.Delivery.Oldest.IsZero() || stored.Before(s.Delivery.Oldest)) {
		s.Delivery.Oldest = stored
	}
	return nil
}
