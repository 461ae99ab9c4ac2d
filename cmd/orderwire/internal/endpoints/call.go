package endpoints

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// answerLimit is how long a process that delivers may take to answer a call, less
// than who calls waits.
const answerLimit = 2 * time.Second

// call is what a process that delivers is asked.
type call struct {
	Release *schema.OrderKey `json:"release"`
	Skip    bool             `json:"skip,omitzero"`
}

// reply is what it answers.
type reply struct {
	NotParked bool   `json:"not_parked,omitzero"`
	Failure   string `json:"failure,omitzero"`
}

// Courier is what a process that delivers to an endpoint can be asked for.
type Courier interface {
	// Release tries a parked order again now; see [pipeline.Courier.Release].
	Release(ctx context.Context, key schema.OrderKey, skip bool) error
}

// Serve takes calls for an endpoint while its courier runs, from before it begins
// until after it has ended: as long as somebody answers, nobody else removes what
// is kept of the endpoint.
func Serve(ctx context.Context, log *jetstream.Log, name string, c Courier) (stop func(), err error) {
	return log.Serve(ctx, name, func(ctx context.Context, request []byte) []byte {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		answer, err := json.Marshal(serve(ctx, request, c))
		if err != nil {
			return nil
		}
		return answer
	})
}

func serve(ctx context.Context, request []byte, c Courier) reply {
	var asked call
	if len(request) == 0 { // whether somebody is there
		return reply{}
	}
	if json.Unmarshal(request, &asked) != nil || asked.Release == nil {
		return reply{Failure: "the process that delivers is of another version"}
	}
	err := c.Release(ctx, *asked.Release, asked.Skip)
	switch {
	case err == nil:
		return reply{}
	case errors.Is(err, pipeline.ErrNotParked):
		return reply{NotParked: true}
	case errors.Is(err, context.DeadlineExceeded):
		return reply{Failure: "the endpoint stands still at present; see the status of the process that delivers"}
	default:
		return reply{Failure: err.Error()}
	}
}

// Release has an order that is parked at an endpoint tried again now, in whatever
// process delivers to it; with skip, it goes on behind the event that could not be
// delivered. Errors: [ErrUnknown], [ErrNotRunning], [pipeline.ErrNotParked].
func (m *Manager) Release(ctx context.Context, name string, key schema.OrderKey, skip bool) error {
	if _, err := m.webhook(ctx, name); err != nil {
		return err
	}
	request, err := json.Marshal(call{Release: &key, Skip: skip})
	if err != nil {
		return of(name, err)
	}
	answer, err := m.log.Call(ctx, name, request)
	if errors.Is(err, jetstream.ErrNobody) {
		return of(name, ErrNotRunning)
	}
	if err != nil {
		return err
	}
	var r reply
	switch err := json.Unmarshal(answer, &r); {
	case err != nil:
		return of(name, err)
	case r.NotParked:
		return of(name, fmt.Errorf("order %s: %w", key, pipeline.ErrNotParked))
	case r.Failure != "":
		return of(name, errors.New(r.Failure))
	}
	return nil
}

// TestResult is what came of a test event.
type TestResult struct {
	ID       string          `json:"id"`              // webhook-id of the event
	Status   int             `json:"status,omitzero"` // of the answer, 0 when there was none
	Duration config.Duration `json:"duration"`
	Reason   string          `json:"reason,omitzero"` // why it failed, "" when the receiver took it
	Answer   string          `json:"answer,omitzero"` // its first 1 KiB
}

// Test sends a made-up event from this process to an endpoint, once, whether it is
// paused or not. What comes of it is no error. See [webhook.Endpoint.Test].
func (m *Manager) Test(ctx context.Context, name string) (TestResult, error) {
	w, err := m.webhook(ctx, name)
	if err != nil {
		return TestResult{}, err
	}
	endpoint, err := webhook.New(w.Endpoint(m.logger))
	if err != nil {
		return TestResult{}, err
	}
	defer endpoint.Close()
	r := endpoint.Test(ctx)
	return TestResult{ID: r.ID, Status: r.Status, Duration: config.Duration(r.Duration), Reason: r.Reason, Answer: string(r.Answer)}, ctx.Err()
}
