package poller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/diff"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

// maxKeys bounds the orders that a window remembers, so that the entry fits a
// message of a NATS server with usual settings.
const maxKeys = 15_000

// findVanished looks for orders that the window held when it was read last and
// does not hold now, asks the network for each, and publishes that it has
// vanished when the network no longer knows it.
func (r *recorder) findVanished(ctx context.Context, w Window, c *Coverage) error {
	if c.Unstable {
		return nil
	}
	if c.seen.size() > maxKeys {
		r.cfg.Logger.Warn("too many orders in a window to notice one that vanishes; shorten max_span",
			"account", r.cfg.Account.Name, "from", w.From, "orders", c.seen.size(), "most", maxKeys)
		return nil
	}
	var before Coverage
	if _, err := r.cfg.Log.LoadCoverage(ctx, r.coverageName(w), &before); err != nil {
		return err
	}
	for _, text := range before.Keys {
		key, err := schema.ParseOrderKey(text)
		if err != nil {
			return fmt.Errorf("coverage of window %s: %w", w.name(), err)
		}
		if c.seen.has(text) {
			continue
		}
		if err := r.missing(ctx, key); err != nil {
			return err
		}
	}
	c.Keys = c.seen.sorted()
	return nil
}

// missing asks for an order that its window no longer holds.
func (r *recorder) missing(ctx context.Context, key schema.OrderKey) error {
	answer, err := r.detail(ctx, key.Program, key.OrderSn)
	var refused *openapi.RefusedError
	switch {
	case err == nil: // it is only somewhere else now
		rec := record{key: key}
		if err := rec.adopt(answer); err != nil {
			return r.bury(ctx, answer.Raw, hash(answer.Raw), err)
		}
		return r.record(ctx, []record{rec})
	case errors.Is(err, openapi.ErrNotFound), errors.As(err, &refused) && !refused.Temporary():
		return r.vanished(ctx, key, r.cfg.Now())
	default:
		return fmt.Errorf("detail of order %s: %w", key, err)
	}
}

// vanished publishes that the network did not know an order when it answered.
// When another writer has seen the order since, nothing is published, however
// often the log has to be asked.
func (r *recorder) vanished(ctx context.Context, key schema.OrderKey, answered time.Time) error {
	a := r.cfg.Account
	for refusals := 0; ; refusals++ {
		state, err := r.cfg.Log.Load(ctx, key)
		if err != nil {
			return err
		}
		event, changed := diff.Vanished(state.Event, schema.Data{TimeZone: a.Location.String(), ObservedAt: answered})
		if !changed {
			return nil
		}
		msg, err := pipeline.NewMessage(&event, state.Sequence, 0)
		if err != nil {
			return err
		}
		err = r.announce(ctx, msg)
		var stale *pipeline.StaleError
		if errors.Is(err, pipeline.ErrStored) {
			err = nil
		}
		if err == nil {
			r.stats.changed.Add(1)
			r.cfg.Logger.Warn("the network no longer knows an order", "account", a.Name, "order", key)
		}
		if !errors.As(err, &stale) || refusals == maxRefusals {
			return err
		}
	}
}

func (r *recorder) announce(ctx context.Context, msg *message.Message) (err error) {
	ctx, end := r.span(ctx, "publish", trace.SpanKindProducer, attribute.Int("messaging.batch.message_count", 1))
	defer func() { end(err) }()
	msg.SetContext(ctx)
	pipeline.SetTrace(ctx, msg)
	return r.cfg.Publisher.Publish(pipeline.Topic, msg)
}
