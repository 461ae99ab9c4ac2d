package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
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

// Cursor is how far a deliverer got: everything up to Floor is settled, and of
// what lies behind it, Done.
type Cursor struct {
	Floor uint64   `json:"floor"`
	Done  []uint64 `json:"done,omitempty"` // ascending, all above Floor
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
	Bury      Bury
	Cursors   CursorStore
	// Concurrency is the most deliveries under way; 0 means 16.
	Concurrency int
	// Window is the most events taken from the log and not settled; 0 means 1024.
	// When the window is full of waiting retries, the endpoint stands still and
	// the log holds its events.
	Window int
	// Schedule holds the pause before each retry; nil means [DefaultSchedule].
	// Each is stretched or shortened by up to a tenth.
	Schedule []time.Duration
	// Logger gets failures. Nil discards them.
	Logger *slog.Logger
}

// Courier drives one [Deliverer] along the log: at least once, in order for
// each order of the network, different orders side by side. Its cursor is saved
// five times a second while it moves, so that after a crash little comes
// twice, and nothing is left out. Create it with [NewCourier].
type Courier struct {
	cfg     CourierConfig
	drain   drain
	floor   atomic.Uint64
	settled atomic.Uint64
	waiting atomic.Int64
}

// NewCourier returns a courier that has not begun.
func NewCourier(cfg CourierConfig) *Courier {
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 16
	}
	if cfg.Window == 0 {
		cfg.Window = 1024
	}
	if cfg.Schedule == nil {
		cfg.Schedule = DefaultSchedule
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Courier{cfg: cfg, drain: newDrain()}
}

// Progress may be called at any time from any goroutine.
func (c *Courier) Progress() Progress {
	p := Progress{Name: c.cfg.Name, Position: c.floor.Load(), Written: c.settled.Load()}
	if n := c.waiting.Load(); n > 0 {
		p.Failure = fmt.Sprintf("%d deliveries wait for another attempt", n)
	}
	return p
}

// Drain asks the courier to end once everything up to a sequence is settled or
// waits for a retry, and waits for that. What waits is delivered after the next
// start. Call it once.
func (c *Courier) Drain(ctx context.Context, upTo uint64) error {
	if err := c.drain.ask(ctx, upTo); err != nil {
		return fmt.Errorf("endpoint %s: drain: %w", c.cfg.Name, err)
	}
	return nil
}

// attemptResult says what is to follow an attempt.
type attemptResult struct {
	err   error
	pause time.Duration // before the next attempt, when err is not nil
	final bool          // no further attempt
}

// attempt delivers once and judges the outcome. tries counts from 1.
func (c *Courier) attempt(ctx context.Context, e schema.Entry, tries int) attemptResult {
	err := c.cfg.Deliverer.Deliver(ctx, e)
	if err == nil {
		return attemptResult{final: true}
	}
	r := attemptResult{err: err, final: tries > len(c.cfg.Schedule)}
	var permanent interface{ Permanent() bool }
	if errors.As(err, &permanent) && permanent.Permanent() {
		r.final = true
	}
	if r.final {
		return r
	}
	r.pause = jitter(c.cfg.Schedule[tries-1])
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		r.pause = max(r.pause, asks.RetryAfter())
	}
	return r
}

// jitter moves a pause by up to a tenth either way, so that endpoints that
// failed together do not come back together.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // no secret hangs on it
}

// settle marks a sequence as done and moves the floor as far as it can go.
// pending holds, ascending, the sequences taken from the log and not settled.
func (k *Cursor) settle(seq, newest uint64, pending []uint64) {
	at, _ := slices.BinarySearch(k.Done, seq)
	k.Done = slices.Insert(k.Done, at, seq)
	floor := newest
	if len(pending) > 0 {
		floor = pending[0] - 1
	}
	k.Floor = max(k.Floor, floor)
	keep, _ := slices.BinarySearch(k.Done, k.Floor+1)
	k.Done = slices.Delete(k.Done, 0, keep)
}
