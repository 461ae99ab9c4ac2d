package pipeline

import (
	"errors"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Attempt is what became of one try to deliver an event.
type Attempt struct {
	At       time.Time     // when it began
	Duration time.Duration // until its outcome was known
	Endpoint string        // name of the endpoint
	Key      schema.OrderKey
	EventID  string
	Type     schema.EventType
	Version  uint64 // of the order after the event
	Sequence uint64 // of the event in the log
	Number   int    // of the attempts at this event, from 1; a probe does not count, and has that of the next one
	Outcome  Outcome
	Probe    bool      // made to see whether a paused endpoint takes deliveries again
	Status   int       // of the receiver's answer, 0 for none
	Reason   string    // why it failed, without payload; "" when it did not
	Answer   []byte    // the beginning of a refusal's body, at most 1 KiB. Not for logs: a receiver writes there what it likes
	Next     time.Time // when the event is tried again at the earliest; zero when nothing is planned
}

// Outcome says how an attempt ended.
type Outcome string

// The outcomes of attempts.
const (
	// OutcomeDelivered says that the receiver has taken the event.
	OutcomeDelivered Outcome = "delivered"
	// OutcomeFailed says that the event is tried again.
	OutcomeFailed Outcome = "failed"
	// OutcomeGivenUp says that it was the last attempt: the event is in the dead
	// letters.
	OutcomeGivenUp Outcome = "given_up"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{OutcomeDelivered, OutcomeFailed, OutcomeGivenUp} }

// excerptBytes bounds Attempt.Answer.
const excerptBytes = 1 << 10

// tell hands an attempt to who keeps them. It comes before the event is let go of.
func (r *route) tell(o *outcome, became Outcome, next time.Time) {
	if r.cfg.Attempted == nil {
		return
	}
	e := &o.entry.Event
	a := Attempt{
		At: o.began, Duration: o.took, Endpoint: r.cfg.Name, Key: o.order.Key, EventID: e.ID, Type: e.Type, Version: e.Data.Version,
		Sequence: o.entry.Sequence, Number: o.tries, Outcome: became, Probe: o.probe, Status: o.status, Next: next,
	}
	if o.failed != nil {
		a.Reason = reason(o.failed)
		a.Answer = excerpt(o.failed)
	}
	r.cfg.Attempted(a)
}

// reason says why an attempt failed.
func reason(err error) string {
	var says interface{ Reason() string }
	if errors.As(err, &says) {
		return says.Reason()
	}
	return err.Error()
}

// excerpt returns what an error quotes of the receiver's answer.
func excerpt(err error) []byte {
	var quotes interface{ Excerpt() []byte }
	if !errors.As(err, &quotes) {
		return nil
	}
	answer := quotes.Excerpt()
	return answer[:min(len(answer), excerptBytes)]
}

// nextOf is when an order is tried again that waits for its time: not before the
// endpoint is probed, if it is paused.
func (r *route) nextOf(o *order) time.Time {
	if r.breaker.open && r.breaker.at.After(o.Next) {
		return r.breaker.at
	}
	return o.Next
}

// wants reports whether an event is to be delivered.
func (c *Courier) wants(e *schema.Event) bool { return c.cfg.Wants == nil || c.cfg.Wants(e) }
