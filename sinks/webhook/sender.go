package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Sender makes the attempts of an [Endpoint] one after another, and keeps from one to
// the next what it takes to end one that is late. It is for one goroutine at a time.
type Sender struct {
	endpoint *Endpoint
	deadline deadline
}

// Sender returns a sender, which costs next to nothing until it is used.
func (e *Endpoint) Sender() *Sender { return &Sender{endpoint: e} }

// Attempt does what [Endpoint.Attempt] does. Attempts are the cheaper when their
// contexts are the same.
func (s *Sender) Attempt(ctx context.Context, entry *schema.Entry) (status int, err error) {
	e := s.endpoint
	if e.filter.selects() {
		switch wanted, err := e.filter.match(&entry.Event); {
		case err != nil:
			e.failed.Add(1)
			return 0, e.failure(entry.Event.ID, err)
		case !wanted:
			e.filtered.Add(1)
			return 0, nil
		}
	}
	start := e.now()
	status, err = s.attempt(ctx, entry, start)
	switch {
	case err == nil:
		e.delivered.Add(1)
	case ctx.Err() == nil: // an end that the caller made is no failure of the receiver
		e.failed.Add(1)
	}
	if e.log.Enabled(ctx, slog.LevelDebug) {
		e.log.DebugContext(ctx, "webhook attempt", "event", entry.Event.ID, "sequence", entry.Sequence,
			"status", status, "delivered", err == nil, "duration", e.now().Sub(start))
	}
	return status, err
}

// attempt posts the event and returns the status of the answer, 0 for none.
func (s *Sender) attempt(ctx context.Context, entry *schema.Entry, now time.Time) (int, error) {
	body, err := Body(entry)
	if err != nil {
		return 0, s.endpoint.failure(entry.Event.ID, err)
	}
	status, _, err := s.post(ctx, entry.Event.ID, now, body)
	return status, err
}

// post sends a body once. It returns the status of the answer, 0 for none, and
// the beginning of the answer.
func (s *Sender) post(parent context.Context, id string, now time.Time, body []byte) (int, []byte, error) {
	e := s.endpoint
	ctx := s.deadline.begin(parent, e.timeout)
	resp, err := e.transport.RoundTrip(e.request(ctx, id, now, body))
	if err != nil {
		err = e.failure(id, safeCause(ctx, err))
		s.deadline.end()
		return 0, nil, err
	}
	excerpt := s.answer(resp)
	s.deadline.pass()
	if resp.StatusCode/100 == 2 {
		return resp.StatusCode, excerpt, nil
	}
	return resp.StatusCode, excerpt, e.refusal(id, resp, excerpt)
}

// answer returns the beginning of an answer, whose rest may take a little while: it
// decides nothing.
func (s *Sender) answer(resp *http.Response) []byte {
	if resp.Body == http.NoBody {
		return nil
	}
	cancel := s.deadline.cancel
	rest := time.AfterFunc(s.endpoint.answerTime, func() { cancel(nil) })
	excerpt := readAnswer(resp.Body, s.endpoint.maxAnswer)
	_ = resp.Body.Close()
	if !rest.Stop() { // it may be about to end the context
		s.deadline.end()
	}
	return excerpt
}

// Close lets go of what the sender keeps. It stays usable.
func (s *Sender) Close() { s.deadline.end() }
