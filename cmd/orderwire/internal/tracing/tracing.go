// Package tracing sends OpenTelemetry traces to a collector.
//
// A poll is the root of a trace: poll → fetch page → publish. The span of publish
// stands in each message that it stores, as a header of W3C Trace Context, so that
// the attempts of webhooks belong to the same trace, in whichever process and however
// much later. A batch of a sink has a trace of its own, linked to those of its events.
// A poll that is not sampled is not traced in what follows from it either. Spans hold
// names, ids, counts and reasons; nothing of an order, no secret and no URL.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// scope names what begins the spans.
const scope = "github.com/orderwire/orderwire"

const (
	// exportLimit bounds a request to the collector.
	exportLimit = 5 * time.Second
	// closeLimit bounds sending what is left at the end.
	closeLimit = 2 * time.Second
	// sayEvery is the least pause between two lines about a collector that fails.
	sayEvery = time.Minute
)

// Tracer returns what begins spans, nil when nothing is traced.
func Tracer(c *config.Tracing) trace.Tracer {
	if c.Endpoint == "" {
		return nil
	}
	return otel.Tracer(scope)
}

// Start has spans sent to the collector from now on; nothing when none is
// configured. A collector that does not answer costs spans, and nothing else. close
// sends what is left, for two seconds at most.
func Start(ctx context.Context, c *config.Tracing, log *slog.Logger) (closed func(context.Context), err error) {
	if c.Endpoint == "" {
		return func(context.Context) {}, nil
	}
	headers := make(map[string]string, len(c.Headers))
	for name, value := range c.Headers {
		headers[name] = string(value)
	}
	address, err := url.JoinPath(c.Endpoint, "v1/traces")
	if err != nil {
		return nil, fmt.Errorf("tracing.endpoint: %w", err)
	}
	to, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithTimeout(exportLimit), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	host, _ := os.Hostname()
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(to, sdk.WithMaxQueueSize(1<<14), sdk.WithBatchTimeout(time.Second)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Sample))),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "orderwire"),
			attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))),
	)
	otel.SetErrorHandler(&complaints{log: log})
	otel.SetTracerProvider(provider)
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, closeLimit)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("some spans were not sent", "error", err)
		}
	}, nil
}

// complaints logs failures of the collector, once in a while.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
}

// Handle implements [otel.ErrorHandler].
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.last) < sayEvery {
		return
	}
	c.last = time.Now()
	c.log.Warn("the collector of traces does not take them; spans are lost, nothing else is concerned", "error", err)
}
