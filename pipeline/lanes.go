package pipeline

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/orderwire/orderwire/schema"
)

// saveEvery bounds how far the stored cursor may be behind.
const saveEvery = 200 * time.Millisecond

// attemptGrace is how long an attempt under way may go on at shutdown.
const attemptGrace = 5 * time.Second

// Run delivers until ctx ends or the log is drained. Attempts under way may go
// on for a moment then, and the cursor is saved, unless ctx ended with a cause of
// its own (see [context.WithCancelCause]): then another process has the work.
func (c *Courier) Run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = 30 * time.Second
	for {
		begun := time.Now()
		err := c.route(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // whatever was cut off by the end of ctx is no failure
		}
		if time.Since(begun) > pause.MaxInterval { // it had gone well for a while
			pause.Reset()
		}
		wait := pause.NextBackOff()
		text := err.Error()
		c.failed.Store(&text)
		c.drain.refuse(err)
		c.cfg.Logger.Error("endpoint stands still, the log holds its events", "endpoint", c.cfg.Name, "error", err, "again_in", wait)
		if !pauseFor(ctx, wait) {
			return nil
		}
	}
}

// state is what an order waits for.
type state int

const (
	ready   state = iota // a slot
	flying               // the outcome of an attempt
	waiting              // its time, in the agenda
	parking              // the store, before its events are settled
	held                 // a person
)

// order is an order that has events under way, or is parked. The first of its
// events is being delivered or waits for that; the others wait for it. The fields
// of Parked hold for both, First and Version from the first failure on.
type order struct {
	Parked
	state   state
	queue   []*schema.Entry // taken and not settled from head on; empty when durable
	head    int
	durable bool   // parked in the store: its events are read from the log again
	noted   uint64 // durable: newest event that came along and was settled for that
}

// drop takes the first event out of the queue, and reports whether there are more.
func (o *order) drop() (more bool) {
	o.queue[o.head] = nil
	if o.head++; o.head < len(o.queue) {
		return true
	}
	o.queue, o.head = o.queue[:0], 0
	return false
}

// route is the state of one pass over the log; the goroutine of Run owns it.
type route struct {
	*Courier
	in       <-chan []Parsed
	some     []Parsed            // came in, and is not taken
	unfollow context.CancelFunc  // ends in; nil before it began
	entries  <-chan schema.Entry // of a Replay, or older events, instead of in
	older    *older              // where entries come from, nil for a Replay
	window   window
	orders   map[laneKey]*order
	fresh    fifo // ready, from the log
	due      fifo // ready, after a failure
	dueNext  bool // whose turn it is when both have something
	agenda   agenda
	breaker  breaker
	pace     *pace
	standing standing
	wishes   <-chan []byte // what a person says, nil when nothing tells of it
	looked   time.Time     // when that was read last
	now      time.Time     // of this turn of the loop
	turns    uint          // so far

	changes map[laneKey]change // what the store does not know yet
	writing bool               // some of it is on its way
	written chan error         // how that ended
	parking []*order           // in changes, to be parked
	inBatch []*order           // the same, on their way
	parked  int
	horizon uint64 // newest event that an earlier pass has settled
	ahead   map[laneKey]uint64

	jobs     chan job
	outcomes chan outcome
	workers  int
	flying   int
	retrying int
	own      context.Context // of attempts
	endOwn   context.CancelFunc

	spare   []*order
	moved   bool        // the cursor moved since it was saved
	storing bool        // a cursor is on its way
	saved   chan saved  // how that ended
	touched bool        // the saving timer runs, or will when the cursor on its way is stored
	saving  *time.Timer // runs while touched
	timer   *time.Timer // of the agenda, and of what holds up all
	alarmAt time.Time
	resume  time.Time // when attempts may begin again that are held up
	target  *uint64   // drain up to here
	stop    context.CancelFunc
}

func (c *Courier) newRoute(stop context.CancelFunc) *route {
	r := &route{
		Courier: c, saving: time.NewTimer(saveEvery), timer: time.NewTimer(saveEvery), orders: make(map[laneKey]*order),
		changes: make(map[laneKey]change), written: make(chan error, 1), saved: make(chan saved, 1), ahead: make(map[laneKey]uint64),
		jobs: make(chan job, c.cfg.Concurrency), outcomes: make(chan outcome, c.cfg.Concurrency),
		breaker: breaker{after: c.cfg.BreakAfter}, pace: newPace(c.cfg.RateLimit), stop: stop, now: time.Now(),
	}
	r.saving.Stop()
	r.timer.Stop()
	r.own, r.endOwn = context.WithCancel(context.Background())
	return r
}

func (c *Courier) route(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	r := c.newRoute(cancel)
	defer r.end(parent)
	var cursor Cursor
	if _, err := c.cfg.Cursors.LoadCursor(ctx, c.cursorName(), &cursor); err != nil {
		return err
	}
	r.window.floor, r.window.before = cursor.Floor, cursor.Done
	c.floor.Store(cursor.Floor)
	if err := r.stand(ctx); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	r.window.newest = cursor.Floor
	if err := r.follow(ctx); err != nil {
		return err
	}
	err := r.loop(ctx)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *Courier) cursorName() string { return cursorName(c.cfg.Name) }

// loop runs until ctx ends, the log is drained, or a Replay has no more entries.
func (r *route) loop(ctx context.Context) error {
	draining := r.drain.asked
	for {
		r.now = time.Now()
		r.wake()
		r.dispatch(ctx)
		r.write()
		r.alarm()
		if r.done() {
			return r.drained(ctx)
		}
		if err := r.turn(ctx, &draining); err != nil || r.finite && r.entries == nil && len(r.orders) == 0 {
			return err
		}
	}
}

// busyTurns is how many turns pass on what comes most before all else is looked at.
const busyTurns = 16

// always can be received from.
var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// turn waits until something happens.
func (r *route) turn(ctx context.Context, draining *chan struct{}) error {
	in, entries := r.in, r.entries
	var rest <-chan struct{}
	switch {
	case r.window.open >= r.cfg.Window:
		in, entries = nil, nil
	case len(r.some) > 0:
		in, rest = nil, always
	}
	if r.turns++; r.turns%busyTurns != 0 { // to look at all of them takes its time
		if r.flying > 1 && len(r.outcomes) == 0 && rest == nil && len(in) == 0 {
			// Who waits is woken by the next outcome and begins one attempt. The workers
			// that can run now may bring several first, at the price of one.
			runtime.Gosched()
		}
		switch {
		case len(r.outcomes) > 0:
			return r.concludeAll(ctx, <-r.outcomes)
		case rest != nil:
			return r.takeSome(ctx)
		case len(in) > 0:
			r.some = <-in
			return r.takeSome(ctx)
		}
	}
	select {
	case <-rest:
		return r.takeSome(ctx)
	case some, open := <-in:
		if !open {
			return errors.Join(ctx.Err(), errors.New("the log closed the subscription"))
		}
		r.some = some
		return r.takeSome(ctx)
	case e, open := <-entries:
		return r.takeEntry(ctx, e, open)
	case o := <-r.outcomes:
		return r.concludeAll(ctx, o)
	case err := <-r.written:
		return r.stored(err)
	case <-r.timer.C:
		r.alarmAt = time.Time{}
		r.now = time.Now()
		return r.look(ctx)
	case document, open := <-r.wishes:
		return r.told(document, open)
	case <-r.saving.C:
		r.store()
		return nil
	case s := <-r.saved:
		return r.kept(s)
	case a := <-r.asks:
		a.do(r)
		close(a.done)
		return nil
	case <-*draining:
		*draining, r.target = nil, &r.drain.upTo
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
