package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// UndeliveredError says which event ended a replay. Of other orders, later
// events may have been delivered, and earlier ones may not; [Replay.Progress]
// says up to where all are settled.
type UndeliveredError struct {
	Sequence uint64
	Attempts int
	Cause    string // what the last attempt came to, without the payload
}

// Error names the event and the reason.
func (e *UndeliveredError) Error() string {
	return fmt.Sprintf("event %d could not be delivered in %d attempts: %s", e.Sequence, e.Attempts, e.Cause)
}

// ReplayConfig says to whom events are delivered again, and how. Its fields are
// those of [CourierConfig].
type ReplayConfig struct {
	Name        string
	Deliverer   Deliverer
	Concurrency int
	Window      int
	Schedule    []time.Duration // the last pause before a replay gives up ends it
	RateLimit   float64
	Logger      *slog.Logger
	// From is the first sequence of the range: everything before it counts as
	// settled.
	From uint64
}

// Replay delivers events of a range, from wherever they come, as a [Courier]
// does those of the log: at least once, in order for each order of the network,
// different orders side by side, with the same retries. It differs in that it
// has an end, keeps no durable cursor, and gives up at the first event
// that cannot be delivered. Create it with [NewReplay].
type Replay struct {
	courier *Courier
	from    uint64
}

// NewReplay returns a replay that has not begun.
func NewReplay(cfg ReplayConfig) *Replay {
	r := &Replay{from: max(cfg.From, 1)}
	r.courier = NewCourier(CourierConfig{
		Name: cfg.Name, Deliverer: cfg.Deliverer, Concurrency: cfg.Concurrency, Window: cfg.Window,
		Schedule: cfg.Schedule, RateLimit: cfg.RateLimit, Logger: cfg.Logger, Cursors: noCursor{}, BreakAfter: -1,
		Bury: func(_ context.Context, d DeadLetter) error {
			return &UndeliveredError{Sequence: d.Sequence, Attempts: d.Attempts, Cause: d.Reason}
		},
	})
	r.courier.finite = true
	r.courier.floor.Store(r.from - 1)
	return r
}

// Progress may be called at any time from any goroutine. Position + 1 is where a
// replay that has ended early goes on.
func (r *Replay) Progress() Progress { return r.courier.Progress() }

// Run delivers entries, which ascend by their sequences, until all are settled.
// The error is an [UndeliveredError], that of the entries, or that of ctx.
// Attempts under way at the end of ctx may go on for a moment.
func (r *Replay) Run(parent context.Context, entries iter.Seq2[schema.Entry, error]) error {
	ctx, cancel := context.WithCancel(parent)
	in := make(chan schema.Entry, readAhead)
	var reading sync.WaitGroup
	var fed error
	reading.Go(func() {
		defer close(in)
		if fed = feed(ctx, entries, in); fed != nil {
			cancel()
		}
	})
	route := r.courier.newRoute(cancel)
	route.window.floor, route.window.newest, route.entries = r.from-1, r.from-1, in
	err := route.loop(ctx)
	route.end(parent) // which cancels ctx
	reading.Wait()
	if fed != nil && (err == nil || !errors.Is(fed, context.Canceled)) {
		return fed
	}
	return err
}

// readAhead is the number of entries that are read while others are delivered.
const readAhead = 256

func feed(ctx context.Context, entries iter.Seq2[schema.Entry, error], in chan<- schema.Entry) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		select {
		case in <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// takeEntry puts an entry into its order's lane. When there are no more, a Replay
// ends, and a courier follows the log.
func (r *route) takeEntry(ctx context.Context, e schema.Entry, open bool) error {
	switch {
	case !open && r.older != nil:
		r.entries = nil
		return r.caughtUp(ctx)
	case !open:
		r.entries = nil
		return nil
	case e.Sequence <= r.window.newest:
		return fmt.Errorf("replay: sequence %d comes behind %d", e.Sequence, r.window.newest)
	}
	r.failed.Store(nil)
	if r.admit(e.Sequence, e.Stored) {
		r.enqueue(&e)
	}
	return nil
}

// noCursor is a [CursorStore] that keeps nothing.
type noCursor struct{}

// LoadCursor implements [CursorStore].
func (noCursor) LoadCursor(context.Context, string, any) (bool, error) { return false, nil }

// SaveCursor implements [CursorStore].
func (noCursor) SaveCursor(context.Context, string, any) error { return nil }
