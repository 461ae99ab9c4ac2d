package poller

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/orderwire/orderwire/pipeline"
)

// span begins a span of the account. What ends it is told how that went. Spans hold
// names and counts, nothing of an order.
func (p *Poller) span(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue) (context.Context, func(error, ...attribute.KeyValue)) {
	about = append(about, attribute.String("orderwire.account", p.cfg.Account.Name))
	ctx, span := p.cfg.Tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	return ctx, func(err error, found ...attribute.KeyValue) {
		span.SetAttributes(found...)
		if err != nil && !errors.Is(err, pipeline.ErrStored) {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
