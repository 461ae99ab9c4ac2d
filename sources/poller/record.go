package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/diff"
	"github.com/orderwire/orderwire/schema"
)

const (
	// maxRefusals bounds how often one set of records is compared again
	// because the log moved on under it.
	maxRefusals = 20
	// loadsAtOnce is the number of orders loaded from the log side by side.
	loadsAtOnce = 32
)

// record is one order as the network answered it, lines included.
type record struct {
	key     schema.OrderKey
	raw     []byte
	content uint64 // hash of raw
	at      time.Time
}

// recorder compares records with the log and publishes what changed, in any
// number of goroutines, as long as no order is in two of them.
type recorder struct {
	*Poller
}

// change is a record that differs from what the log knows.
type change struct {
	record
	event    schema.Event
	expected uint64
}

// record brings the log up to date with the records, of which no two are of one
// order. It returns when the log has acknowledged every event that follows.
func (r *recorder) record(ctx context.Context, records []record) error {
	outdated := make(map[schema.OrderKey]bool) // orders of which memory was wrong
	for refusals := 0; ; refusals++ {
		changes, err := r.compare(ctx, records, outdated)
		if err != nil {
			return err
		}
		err = r.publish(ctx, changes)
		var stale *pipeline.StaleError
		var large *pipeline.TooLargeError
		switch {
		case err == nil || errors.Is(err, pipeline.ErrStored):
			r.count(changes, len(records))
			return nil
		case errors.As(err, &large):
			if records, err = r.buryLarge(ctx, records, changes, large); err != nil {
				return err
			}
		case !errors.As(err, &stale) || refusals == maxRefusals:
			return fmt.Errorf("publish %d events: %w", len(changes), err)
		default: // another writer was here; the log has brought our memory up to date
			for _, key := range stale.Orders {
				outdated[key] = true
			}
		}
	}
}

// buryLarge takes a record out whose event the log never takes.
func (r *recorder) buryLarge(ctx context.Context, records []record, changes []*change, large *pipeline.TooLargeError) ([]record, error) {
	at := slices.IndexFunc(changes, func(c *change) bool { return c.event.ID == large.Message })
	if at < 0 {
		return nil, large
	}
	c := changes[at]
	if err := r.bury(ctx, c.raw, c.content, large); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(records, func(rec record) bool { return rec.key == c.key }), nil
}

// compare returns the changes that follow from the records, in their order.
// Memory is not asked about the outdated ones.
func (r *recorder) compare(ctx context.Context, records []record, outdated map[schema.OrderKey]bool) ([]*change, error) {
	found := make([]*change, len(records)) // nil for what has not changed
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loadsAtOnce)
	var key []byte
	for i, rec := range records {
		key = rec.key.AppendTo(key[:0])
		known, isKnown := r.cfg.Log.Lookup(key)
		if isKnown && known.Content == rec.content {
			continue
		}
		next, ok, err := r.parse(ctx, rec)
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if !ok {
			continue
		}
		if !isKnown && !outdated[rec.key] {
			event, _ := diff.Next(nil, next)
			found[i] = &change{record: rec, event: event}
			continue
		}
		group.Go(func() error { return r.against(ctx, rec, next, &found[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(c *change) bool { return c == nil }), nil
}

// against compares a snapshot with the order's last event in the log.
func (r *recorder) against(ctx context.Context, rec record, next schema.Data, out **change) error {
	state, err := r.cfg.Log.Recall(ctx, rec.key)
	if errors.Is(err, pipeline.ErrPoison) { // somebody wrote into the log: this order waits, the others go on
		return r.bury(ctx, rec.raw, rec.content, err)
	}
	if err != nil {
		return err
	}
	event, changed := diff.Next(state.Event, next)
	if changed {
		*out = &change{record: rec, event: event, expected: state.Sequence}
		return nil
	}
	if !next.ObservedAt.Before(state.Event.Data.ObservedAt) {
		r.cfg.Log.Touch(rec.key, state.Event.Data.Version, rec.content)
	}
	return nil
}

// parse reads a record. A bad one is buried, once, and passed over.
func (r *recorder) parse(ctx context.Context, rec record) (schema.Data, bool, error) {
	order, err := schema.ParseOrder(rec.raw)
	if err == nil {
		err = order.Check()
	}
	if err != nil {
		return schema.Data{}, false, r.bury(ctx, rec.raw, rec.content, err)
	}
	a := r.cfg.Account
	at := rec.at.Truncate(time.Microsecond) // as the archive keeps it, which so gives back the same bytes
	return schema.Data{Account: a.Name, TimeZone: a.Location.String(), ObservedAt: at, Order: order}, true, nil
}

func (r *recorder) bury(ctx context.Context, raw []byte, content uint64, reason error) error {
	if !r.buried.first(content) {
		return nil
	}
	letter := pipeline.DeadLetter{Sink: LetterSink(r.cfg.Account.Name), Reason: reason.Error(), Attempts: 1, Raw: slices.Clone(raw)}
	if err := r.cfg.Log.Bury(ctx, letter); err != nil {
		r.buried.forget(content)
		return err
	}
	r.stats.bad.Add(1)
	r.cfg.Logger.Warn("a record of the network is no readable order; it went to the dead letters",
		"account", r.cfg.Account.Name, "reason", reason)
	return nil
}

func (r *recorder) publish(ctx context.Context, changes []*change) (err error) {
	if len(changes) == 0 {
		return nil
	}
	ctx, end := r.span(ctx, "publish", trace.SpanKindProducer, attribute.Int("messaging.batch.message_count", len(changes)))
	defer func() { end(err) }()
	msgs := make([]*message.Message, len(changes))
	for i, c := range changes {
		msg, err := pipeline.NewMessage(&c.event, c.expected, c.content)
		if err != nil {
			return err
		}
		msg.SetContext(ctx)
		pipeline.SetTrace(ctx, msg)
		msgs[i] = msg
	}
	return r.cfg.Publisher.Publish(pipeline.Topic, msgs...)
}

func (r *recorder) count(changes []*change, records int) {
	for _, c := range changes {
		if c.event.Type == schema.OrderCreated {
			r.stats.created.Add(1)
		} else {
			r.stats.changed.Add(1)
		}
	}
	r.stats.unchanged.Add(int64(records - len(changes)))
}

func hash(raw []byte) uint64 { return xxh3.Hash(raw) }

// LetterSink is the name under which an account's records go to the dead letters.
func LetterSink(account string) string { return "poller." + account }
