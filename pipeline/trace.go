package pipeline

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// MetaTrace names the trace that a message was published in: the header of W3C
// Trace Context. A message without it was published untraced.
const MetaTrace = "traceparent"

// SetTrace gives a message the trace of ctx, if it has one.
func SetTrace(ctx context.Context, msg *message.Message) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(msg.Metadata))
	}
}

// WithTrace returns ctx in the trace that an entry was published in, ctx itself when
// there is none.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{MetaTrace: traceparent})
}
