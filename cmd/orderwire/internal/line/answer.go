package line

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// answering lets the courier see what an endpoint has answered, and traces attempts
// in the trace that their event was published in.
type answering struct {
	endpoint *webhook.Endpoint
	tracer   trace.Tracer // nil: none
}

// Deliver implements [pipeline.Deliverer].
func (a answering) Deliver(ctx context.Context, e *schema.Entry) error {
	s := a.Sender()
	defer s.Close()
	_, err := s.Attempt(ctx, e)
	return err
}

// Sender implements [pipeline.Sending].
func (a answering) Sender() pipeline.Sender { return sender{a.endpoint.Sender(), a} }

// sender makes attempts of an endpoint one after another.
type sender struct {
	*webhook.Sender
	of answering
}

// Attempt implements [pipeline.Answering].
func (s sender) Attempt(ctx context.Context, e *schema.Entry) (int, error) {
	if s.of.tracer == nil {
		return s.attempt(ctx, e)
	}
	ctx, span := s.of.tracer.Start(pipeline.WithTrace(ctx, e.Trace), "deliver", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("orderwire.endpoint", s.of.endpoint.Name()), attribute.String("orderwire.event", e.Event.ID),
		attribute.Int64("orderwire.sequence", int64(e.Sequence)),
	))
	defer span.End()
	status, err := s.attempt(ctx, e)
	if status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	var failed answer
	if errors.As(err, &failed) {
		span.SetStatus(codes.Error, failed.Reason())
	}
	return status, err
}

func (s sender) attempt(ctx context.Context, e *schema.Entry) (int, error) {
	status, err := s.Sender.Attempt(ctx, e)
	if err == nil {
		return status, nil
	}
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
