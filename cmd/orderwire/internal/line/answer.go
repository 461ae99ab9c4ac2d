package line

import (
	"context"
	"errors"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// answering lets the courier see what an endpoint has answered.
type answering struct{ endpoint *webhook.Endpoint }

// Deliver implements [pipeline.Deliverer].
func (a answering) Deliver(ctx context.Context, e schema.Entry) error {
	_, err := a.Attempt(ctx, e)
	return err
}

// Attempt implements [pipeline.Answering].
func (a answering) Attempt(ctx context.Context, e schema.Entry) (int, error) {
	status, err := a.endpoint.Attempt(ctx, e)
	var failed *webhook.DeliveryError
	if errors.As(err, &failed) {
		return status, answer{failed}
	}
	return status, err
}

// answer is a failed delivery.
type answer struct{ *webhook.DeliveryError }

// Status is that of the answer, 0 when there was none.
func (a answer) Status() int { return a.StatusCode }

// Excerpt is the beginning of the answer's body.
func (a answer) Excerpt() []byte { return a.Answer }

// Unwrap returns the endpoint's own error.
func (a answer) Unwrap() error { return a.DeliveryError }
