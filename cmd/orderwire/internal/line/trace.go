package line

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// mostLinks bounds the traces that the span of a batch names.
const mostLinks = 64

// tracedSink begins a span for each batch, linked to the traces of its events.
type tracedSink struct {
	pipeline.Sink
	name   string
	tracer trace.Tracer
}

// traced returns the sink itself when nothing is traced.
func (l *Line) traced(name string, sink pipeline.Sink) pipeline.Sink {
	if l.tracer == nil {
		return sink
	}
	return tracedSink{Sink: sink, name: name, tracer: l.tracer}
}

// Write implements [pipeline.Sink].
func (s tracedSink) Write(ctx context.Context, batch []schema.Entry) error {
	about := []attribute.KeyValue{
		attribute.String("orderwire.sink", s.name), attribute.Int("messaging.batch.message_count", len(batch)),
	}
	if len(batch) > 0 {
		about = append(about, attribute.Int64("orderwire.sequence", int64(batch[len(batch)-1].Sequence)))
	}
	return s.span(ctx, "write", func(ctx context.Context) error { return s.Sink.Write(ctx, batch) },
		trace.WithAttributes(about...), trace.WithLinks(links(ctx, batch)...))
}

// Flush implements [pipeline.Sink].
func (s tracedSink) Flush(ctx context.Context) error {
	return s.span(ctx, "flush", s.Sink.Flush, trace.WithAttributes(attribute.String("orderwire.sink", s.name)))
}

func (s tracedSink) span(ctx context.Context, name string, do func(context.Context) error, with ...trace.SpanStartOption) error {
	ctx, span := s.tracer.Start(ctx, name, append(with, trace.WithSpanKind(trace.SpanKindConsumer))...)
	defer span.End()
	err := do(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// links returns the traces that the events of a batch were published in, each once.
func links(ctx context.Context, batch []schema.Entry) (all []trace.Link) {
	seen := make(map[string]bool)
	for i := range batch {
		parent := batch[i].Trace
		if parent == "" || seen[parent] {
			continue
		}
		if len(all) == mostLinks {
			break
		}
		seen[parent] = true
		if of := trace.SpanContextFromContext(pipeline.WithTrace(ctx, parent)); of.IsValid() {
			all = append(all, trace.Link{SpanContext: of})
		}
	}
	return all
}
