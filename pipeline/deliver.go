package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// DefaultSchedule is the pause before each further attempt of a delivery, as
// the Standard Webhooks specification proposes: nine retries over three days.
var DefaultSchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// CursorStore keeps a deliverer's cursor durably.
type CursorStore interface {
	// LoadCursor reads the document of that name into v, false for none.
	LoadCursor(ctx context.Context, name string, v any) (bool, error)
	// SaveCursor stores it; nil means it is durable.
	SaveCursor(ctx context.Context, name string, v any) error
}

// CourierConfig says what to deliver and how.
type CourierConfig struct {
	Name      string // of the endpoint, for logs, cursor and dead letters
	Deliverer Deliverer
	Follow    Follow
	// Tail is a reading of the log that several couriers share, instead of Follow. Nil
	// means that the courier reads by itself.
	Tail    *Tail
	Bury    Bury
	Cursors CursorStore
	// Watch tells how a document of Cursors stands and then every change of it, by
	// any process, nil when there is none; a value that was not taken may be replaced
	// by a newer one. When it returns, no later change is missed. It closes the channel
	// when ctx ends, or when it can tell no more. With it, [Pause] and [Resume] take
	// effect at once; nil means that the courier looks every 10 s.
	Watch func(ctx context.Context, name string) (<-chan []byte, error)
	// Parked keeps orders whose delivery has failed, and Recall reads their events
	// again. Nil means that they wait in the window: when it is full of them, the
	// endpoint stands still and the log holds its events.
	Parked ParkedStore
	Recall Recall // required with Parked
	// Archive reads the events of parked orders that have aged out of the log. Nil
	// means that such an order waits, and says so in the log. Its error wraps
	// [ErrGone] when it has not all events that came before those of the log; false
	// says that it has, and that none is of that order.
	Archive Recall
	// Older reads what has aged out of the log before the endpoint took it: all of
	// that is delivered before the endpoint follows the log. Nil, or when something
	// is missing there: the endpoint stands still with a [GapError].
	Older Older
	// Concurrency is the most deliveries under way; 0 means 16. Retries of parked
	// orders take half of it at most.
	Concurrency int
	// Window is the most events taken from the log and not settled; 0 means 1024.
	Window int
	// Schedule holds the pause before each retry; nil means [DefaultSchedule].
	// Each is stretched or shortened by up to a tenth.
	Schedule []time.Duration
	// HoldExhausted keeps an order parked after its last attempt until a person
	// says what follows; false lets it go on with its next event. The event goes to
	// the dead letters either way.
	HoldExhausted bool
	// Unordered delivers each event by itself, without regard to others of its
	// order.
	Unordered bool
	// RateLimit is the most attempts in a second; 0 means no limit.
	RateLimit float64
	// BreakAfter is the number of orders in a row whose delivery fails, without a
	// success between them, after which the endpoint is paused and probed; 0 means
	// 100, less than 0 never. Five are enough when nothing succeeds for 5 minutes.
	BreakAfter int
	// Wants says which events are for the endpoint; nil means all. The others are
	// settled when they are taken from the log: they take no slot, do not count for
	// the rate, and are no success for the breaker. It is also asked about the events
	// of parked orders, then from other goroutines.
	Wants func(*schema.Event) bool
	// Attempted gets every attempt whose outcome is known, in the order of the
	// outcomes. It is called by one goroutine, which all deliveries wait for: it must
	// not block. What the end of the process cuts off is no attempt. Nil: none.
	Attempted func(Attempt)
	// Retention notices events that the log no longer holds; see [GapError].
	Retention Retention
	// Logger gets failures. Nil discards them.
	Logger *slog.Logger
}

// Courier drives one [Deliverer] along the log: at least once, in order for
// each order of the network, different orders side by side. An order whose
// delivery fails is parked, and all others pass. The cursor is saved
// five times a second while it moves, so that after a crash little comes
// twice, and nothing is left out. Create it with [NewCourier].
type Courier struct {
	cfg     CourierConfig
	drain   drain
	asks    chan ask
	finite  bool // it belongs to a Replay
	floor   atomic.Uint64
	settled atomic.Uint64
	picture atomic.Pointer[Delivery]
	failed  atomic.Pointer[string]
}

// NewCourier returns a courier that has not begun.
func NewCourier(cfg CourierConfig) *Courier {
	orDefault(&cfg.Concurrency, 16)
	orDefault(&cfg.Window, 1024)
	orDefault(&cfg.BreakAfter, 100)
	if cfg.Schedule == nil {
		cfg.Schedule = DefaultSchedule
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Courier{cfg: cfg, drain: newDrain(), asks: make(chan ask)}
}

func orDefault(v *int, value int) {
	if *v == 0 {
		*v = value
	}
}

// Delivery tells how an endpoint is, as of at most a fifth of a second ago.
type Delivery struct {
	Parked   int       // orders that are parked durably
	Waiting  int       // deliveries that wait for another attempt, parked orders included
	Oldest   time.Time // when the oldest event that is owed came into the log; zero when none is
	Paused   bool      // by a person, until it is resumed
	Reason   string    // that the person gave, "" for none
	Broken   bool      // it fails throughout: it is held up and probed
	Disabled string    // why a person has to resume it; "" when none has to
	Rate     float64   // attempts a second that it may have at present; 0 means no limit
}

// Progress may be called at any time from any goroutine.
func (c *Courier) Progress() Progress {
	p := Progress{Name: c.cfg.Name, Position: c.floor.Load(), Written: c.settled.Load()}
	if d := c.picture.Load(); d != nil {
		p.Delivery = *d
	}
	switch d := p.Delivery; {
	case c.failed.Load() != nil:
		p.Failure = *c.failed.Load()
	case d.Paused && d.Reason != "":
		p.Failure = "paused until it is resumed: " + d.Reason
	case d.Paused:
		p.Failure = "paused until it is resumed"
	case d.Disabled != "":
		p.Failure = "disabled until it is resumed: " + d.Disabled
	case d.Broken:
		p.Failure = "every delivery fails; the endpoint is paused and probed"
	case d.Waiting > 0:
		p.Failure = fmt.Sprintf("%d deliveries wait for another attempt", d.Waiting)
	}
	return p
}

// Drain asks the courier to end once everything up to a sequence is settled or
// waits for a retry, and waits for that. What waits is delivered after the next
// start. A [GapError] ends the waiting, as it does not pass by itself. Call it
// once.
func (c *Courier) Drain(ctx context.Context, upTo uint64) error {
	if err := c.drain.ask(ctx, upTo); err != nil {
		return fmt.Errorf("endpoint %s: drain: %w", c.cfg.Name, err)
	}
	return nil
}

// ask is a request of a person to the owner of the route.
type ask struct {
	do   func(*route)
	done chan struct{}
}

// ErrNotParked says that an order is not parked: there is nothing to release, or
// an attempt at it is under way.
var ErrNotParked = errors.New("the order is not parked at this endpoint, or is being delivered now")

// Release tries a parked order again now, also one that is held because its
// attempts were used up. With skip, it goes on behind the event that could not be
// delivered. An order that is not parked is left alone, which is [ErrNotParked]. It
// waits until the courier runs.
func (c *Courier) Release(ctx context.Context, key schema.OrderKey, skip bool) error {
	released := 0
	err := c.ask(ctx, func(r *route) {
		for _, o := range r.orders {
			if o.Key == key && (o.state == held || o.state == waiting && o.durable) {
				r.release(o, skip)
				released++
			}
		}
	})
	if err == nil && released == 0 {
		err = fmt.Errorf("endpoint %s, order %s: %w", c.cfg.Name, key, ErrNotParked)
	}
	return err
}

func (c *Courier) ask(ctx context.Context, do func(*route)) error {
	a := ask{do: do, done: make(chan struct{})}
	select {
	case c.asks <- a:
		<-a.done
		return nil
	case <-ctx.Done():
		return fmt.Errorf("endpoint %s: %w", c.cfg.Name, ctx.Err())
	}
}
