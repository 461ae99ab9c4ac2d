package endpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// ErrQuery marks a query that cannot be answered; its text says why.
var ErrQuery = errors.New("no such attempts")

// Query says which attempts to find. Every field that is set has to hold; see
// [jetstream.AttemptQuery].
type Query struct {
	Endpoint                string
	Account, Program, Order string
	Event                   string    // its id
	Outcome                 string    // delivered, failed or given_up
	Since, Before           time.Time // when the attempt began
	Limit                   int       // 0 means 100
	Answers                 bool      // with the beginnings of the receivers' answers
}

// Attempt is a try to deliver an event, for programs to read.
type Attempt struct {
	At       time.Time `json:"at"`          // when it began
	Duration float64   `json:"duration_ms"` // until its outcome was known
	Endpoint string    `json:"endpoint"`
	Account  string    `json:"account"`
	Program  string    `json:"program"`
	Order    string    `json:"order"`
	Event    string    `json:"event"` // its id, the delivery's webhook-id
	Type     string    `json:"type"`
	Version  uint64    `json:"version"`
	Sequence uint64    `json:"sequence"` // in the log
	Number   int       `json:"attempt"`  // at this event, from 1
	Outcome  string    `json:"outcome"`  // delivered, failed (it is tried again) or given_up (it is in the dead letters)
	Probe    bool      `json:"probe,omitzero"`
	Status   int       `json:"status,omitzero"` // of the answer, left out when there was none
	Reason   string    `json:"reason,omitzero"`
	// Answer is the beginning of a refusal's body, if it was asked for. It is the
	// receiver's text: bytes that are no UTF-8 are replaced, and nothing else is.
	Answer string    `json:"answer,omitzero"`
	Next   time.Time `json:"next,omitzero"` // when it is tried again at the earliest; zero when that is not planned
}

// Attempts returns the newest attempts that a query describes, the newest first,
// and no nil slice. The error wraps [ErrQuery] when the query is at fault.
func Attempts(ctx context.Context, log *jetstream.Log, q Query) ([]Attempt, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	found, err := log.SearchAttempts(ctx, jetstream.AttemptQuery{
		Endpoint: q.Endpoint, Account: q.Account, Program: q.Program, Order: q.Order, EventID: q.Event, Outcome: pipeline.Outcome(q.Outcome),
		Since: q.Since, Before: q.Before, Limit: q.Limit,
	})
	if err != nil {
		return nil, err
	}
	all := make([]Attempt, len(found))
	for i := range found {
		all[i] = toAttempt(&found[i])
		if !q.Answers {
			all[i].Answer = ""
		}
	}
	return all, nil
}

// Check says what is wrong with a query. The error wraps [ErrQuery].
func (q Query) Check() error {
	switch {
	case q.Outcome != "" && !slices.Contains(pipeline.Outcomes(), pipeline.Outcome(q.Outcome)):
		return fmt.Errorf("%w: there is no outcome %q; known are delivered, failed and given_up", ErrQuery, q.Outcome)
	case q.Limit < 0:
		return fmt.Errorf("%w: the limit is %d", ErrQuery, q.Limit)
	case !q.Before.IsZero() && !q.Since.Before(q.Before):
		return fmt.Errorf("%w: the time ends before it begins", ErrQuery)
	}
	return nil
}

func toAttempt(a *pipeline.Attempt) Attempt {
	return Attempt{
		At: a.At, Duration: float64(a.Duration.Microseconds()) / 1000, Endpoint: a.Endpoint, Account: a.Key.Account, Program: a.Key.Program,
		Order: a.Key.OrderSn, Event: a.EventID, Type: string(a.Type), Version: a.Version, Sequence: a.Sequence, Number: a.Number,
		Outcome: string(a.Outcome), Probe: a.Probe, Status: a.Status, Reason: a.Reason,
		Answer: strings.ToValidUTF8(string(a.Answer), "\uFFFD"), Next: a.Next,
	}
}
