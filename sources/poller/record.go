package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/zeebo/xxh3"
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
	// maxBuried bounds the memory of bad records that were buried already.
	maxBuried = 10_000
)

// record is one order as the network answered it, lines included.
type record struct {
	key     schema.OrderKey
	raw     []byte
	content uint64 // hash of raw
	at      time.Time
}

// recorder compares records with the log and publishes what changed. One
// goroutine owns it.
type recorder struct {
	*Poller
}

// change is a record that differs from what the log knows.
type change struct {
	record
	event    schema.Event
	expected uint64
}

// record brings the log up to date with the records. It returns when the log
// has acknowledged every event that follows from them.
func (r *recorder) record(ctx context.Context, records []record) error {
	records = latest(records)
	fresh := false
	for refusals := 0; ; refusals++ {
		changes, err := r.compare(ctx, records, fresh)
		if err != nil {
			return err
		}
		err = r.publish(ctx, changes)
		var stale *pipeline.StaleError
		switch {
		case err == nil:
			r.count(changes, len(records))
			return nil
		case !errors.As(err, &stale) || refusals == maxRefusals:
			return fmt.Errorf("publish %d events: %w", len(changes), err)
		}
		fresh = true // another writer was here: look at the log, not at memory
	}
}

// latest keeps, of several records of one order, the last.
func latest(records []record) []record {
	at := make(map[schema.OrderKey]int, len(records))
	kept := records[:0:0]
	for _, rec := range records {
		if i, again := at[rec.key]; again {
			kept[i] = rec
			continue
		}
		at[rec.key] = len(kept)
		kept = append(kept, rec)
	}
	return kept
}

// compare returns the changes that follow from the records, in their order.
func (r *recorder) compare(ctx context.Context, records []record, fresh bool) ([]change, error) {
	found := make([]*change, len(records))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loadsAtOnce)
	for i, rec := range records {
		known, isKnown := r.cfg.Log.Known(rec.key)
		if isKnown && known.Content == rec.content && !fresh {
			continue
		}
		next, ok, err := r.parse(ctx, rec)
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if !ok {
			continue
		}
		if !isKnown && !fresh {
			event, _ := diff.Next(nil, next)
			found[i] = &change{record: rec, event: event}
			continue
		}
		group.Go(func() error { return r.against(ctx, rec, next, &found[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return collect(found), nil
}

func collect(found []*change) []change {
	changes := make([]change, 0, len(found))
	for _, c := range found {
		if c != nil {
			changes = append(changes, *c)
		}
	}
	return changes
}

// against compares a snapshot with the order's last event in the log.
func (r *recorder) against(ctx context.Context, rec record, next schema.Data, out **change) error {
	state, err := r.cfg.Log.Load(ctx, rec.key)
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
	return schema.Data{Account: a.Name, TimeZone: a.Location.String(), ObservedAt: rec.at, Order: order}, true, nil
}

func (r *recorder) bury(ctx context.Context, raw []byte, content uint64, reason error) error {
	if r.buried[content] {
		return nil
	}
	letter := pipeline.DeadLetter{Sink: "poller." + r.cfg.Account.Name, Reason: reason.Error(), Attempts: 1, Raw: slices.Clone(raw)}
	if err := r.cfg.Log.Bury(ctx, letter); err != nil {
		return err
	}
	if len(r.buried) >= maxBuried {
		clear(r.buried)
	}
	r.buried[content] = true
	r.stats.bad.Add(1)
	r.cfg.Logger.Warn("a record of the network is no readable order; it went to the dead letters",
		"account", r.cfg.Account.Name, "reason", reason)
	return nil
}

func (r *recorder) publish(ctx context.Context, changes []change) error {
	msgs := make([]*message.Message, len(changes))
	for i := range changes {
		c := &changes[i]
		msg, err := pipeline.NewMessage(&c.event, c.expected, c.content)
		if err != nil {
			return err
		}
		msg.SetContext(ctx)
		msgs[i] = msg
	}
	return r.cfg.Publisher.Publish(pipeline.Topic, msgs...)
}

func (r *recorder) count(changes []change, records int) {
	for i := range changes {
		if changes[i].event.Type == schema.OrderCreated {
			r.stats.created.Add(1)
		} else {
			r.stats.changed.Add(1)
		}
	}
	r.stats.unchanged.Add(int64(records - len(changes)))
}

func hash(raw []byte) uint64 { return xxh3.Hash(raw) }
