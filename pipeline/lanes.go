package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"

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
		err := c.route(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // whatever was cut off by the end of ctx is no failure
		}
		wait := pause.NextBackOff()
		c.cfg.Logger.Error("endpoint stands still, the log holds its events", "endpoint", c.cfg.Name, "error", err, "again_in", wait)
		if !pauseFor(ctx, wait) {
			return nil
		}
	}
}

// outcome is what a lane tells the route's owner.
type outcome struct {
	key     schema.OrderKey
	seq     uint64
	settled bool // delivered, buried, or filtered; else: begins to wait for a retry
	err     error
}

// lane holds the events of one order that are under way. The first one is
// being delivered, or waits for its retry; the others wait for it.
type lane struct {
	queue []schema.Entry
}

// route is the state of one pass over the log; the goroutine of Run owns it.
type route struct {
	*Courier
	in       <-chan *message.Message
	cursor   Cursor
	newest   uint64   // last sequence taken from the log
	pending  []uint64 // taken and not settled, ascending
	lanes    map[schema.OrderKey]*lane
	waits    map[uint64]bool // first of a lane, waiting for a retry
	outcomes chan outcome
	slots    *semaphore.Weighted
	workers  sync.WaitGroup
	dirty    bool        // the cursor moved since it was saved
	saving   *time.Timer // runs while dirty
	target   *uint64     // drain up to here
	stop     context.CancelFunc
}

func (c *Courier) route(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	r := &route{
		Courier: c, saving: time.NewTimer(saveEvery), lanes: make(map[schema.OrderKey]*lane), waits: make(map[uint64]bool),
		outcomes: make(chan outcome), slots: semaphore.NewWeighted(int64(c.cfg.Concurrency)), stop: cancel,
	}
	defer r.end(parent)
	if _, err := c.cfg.Cursors.LoadCursor(ctx, c.cursorName(), &r.cursor); err != nil {
		return err
	}
	r.newest = r.cursor.Floor
	c.floor.Store(r.cursor.Floor)
	in, err := c.cfg.Follow(ctx, r.cursor.Floor)
	if err != nil {
		return err
	}
	r.in = in
	return r.loop(ctx)
}

func (c *Courier) cursorName() string { return "endpoint." + schema.EscapeToken(c.cfg.Name) }

func (r *route) loop(ctx context.Context) error {
	draining := r.drain.asked
	for {
		if r.done() {
			if err := r.save(ctx); err != nil {
				return err
			}
			close(r.drain.done)
			return nil
		}
		in := r.in
		if len(r.pending) >= r.cfg.Window {
			in = nil
		}
		select {
		case msg, open := <-in:
			if !open {
				return r.closed(ctx)
			}
			if err := r.take(ctx, msg); err != nil {
				return err
			}
		case o := <-r.outcomes:
			if o.err != nil {
				return o.err
			}
			if next, ok := r.settle(o); ok {
				r.begin(ctx, next)
			}
		case <-r.saving.C:
			if err := r.save(ctx); err != nil {
				return err
			}
		case <-draining:
			draining, r.target = nil, &r.drain.upTo
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *route) closed(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx is no failure
	}
	return errors.New("the log closed the subscription")
}

// done reports whether a drain has nothing left to do but wait for retries.
func (r *route) done() bool {
	if r.target == nil {
		return false
	}
	blocked := len(r.pending) >= r.cfg.Window
	if r.newest < *r.target && !blocked {
		return false
	}
	return len(r.waits) == len(r.lanes)
}

// take puts a message into its order's lane.
func (r *route) take(ctx context.Context, msg *message.Message) error {
	msg.Ack()
	e, err := ReadEntry(msg)
	if err != nil && !errors.Is(err, ErrPoison) {
		return err
	}
	if e.Sequence <= r.newest {
		return nil
	}
	r.newest = e.Sequence
	if _, done := slices.BinarySearch(r.cursor.Done, e.Sequence); done {
		return nil
	}
	r.pending = append(r.pending, e.Sequence)
	if err != nil {
		letter := DeadLetter{Sink: r.cfg.Name, Reason: err.Error(), Subject: e.Subject, Sequence: e.Sequence, Attempts: 1, Raw: e.Raw}
		if err := r.cfg.Bury(ctx, letter); err != nil {
			return err
		}
		r.mark(e.Sequence)
		return nil
	}
	key := e.Event.Key()
	if l, busy := r.lanes[key]; busy {
		l.queue = append(l.queue, e)
		return nil
	}
	r.lanes[key] = &lane{queue: []schema.Entry{e}}
	r.begin(ctx, e)
	return nil
}

// begin works on the first event of a lane, attempt after attempt. The owner
// takes its outcomes, at shutdown in end.
func (r *route) begin(ctx context.Context, e schema.Entry) {
	r.workers.Go(func() {
		for tries := 1; ; tries++ {
			result, err := r.try(ctx, e, tries)
			if err != nil {
				return // shutting down; the event stays pending
			}
			if result.final {
				r.outcomes <- r.conclude(ctx, e, result, tries)
				return
			}
			r.outcomes <- outcome{key: e.Event.Key(), seq: e.Sequence}
			r.waiting.Add(1)
			waited := pauseFor(ctx, result.pause)
			r.waiting.Add(-1)
			if !waited {
				return
			}
		}
	})
}

// try makes one attempt when there is a slot for it. An attempt under way at
// shutdown may go on for a moment, so that its outcome is known.
func (r *route) try(ctx context.Context, e schema.Entry, tries int) (attemptResult, error) {
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return attemptResult{}, err
	}
	defer r.slots.Release(1)
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unhook := context.AfterFunc(ctx, func() {
		if deposed(ctx) {
			cancel()
			return
		}
		time.AfterFunc(attemptGrace, cancel)
	})
	defer unhook()
	result := r.attempt(own, e, tries)
	if own.Err() != nil {
		return attemptResult{}, own.Err()
	}
	if result.err != nil {
		r.cfg.Logger.Warn("delivery failed", "endpoint", r.cfg.Name, "event", e.Event.ID, "sequence", e.Sequence,
			"attempt", tries, "error", result.err, "again_in", result.pause, "final", result.final)
	}
	return result, nil
}

// conclude buries what could not be delivered.
func (r *route) conclude(ctx context.Context, e schema.Entry, result attemptResult, tries int) outcome {
	o := outcome{key: e.Event.Key(), seq: e.Sequence, settled: true}
	if result.err != nil {
		o.err = r.cfg.Bury(ctx, DeadLetter{
			Sink: r.cfg.Name, Reason: result.err.Error(), Subject: e.Subject, Sequence: e.Sequence, Attempts: tries, Raw: e.Raw,
		})
	}
	return o
}

// pauseFor waits, and returns false when ctx ends before the time is up.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// settle takes in what a lane reports and returns the lane's next event.
func (r *route) settle(o outcome) (next schema.Entry, ok bool) {
	if !o.settled {
		r.waits[o.seq] = true
		return schema.Entry{}, false
	}
	delete(r.waits, o.seq)
	l := r.lanes[o.key]
	r.mark(o.seq)
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		delete(r.lanes, o.key)
		return schema.Entry{}, false
	}
	return l.queue[0], true
}

func (r *route) mark(seq uint64) {
	if at, ok := slices.BinarySearch(r.pending, seq); ok {
		r.pending = slices.Delete(r.pending, at, at+1)
	}
	r.cursor.settle(seq, r.newest, r.pending)
	if !r.dirty {
		r.dirty = true
		r.saving.Reset(saveEvery)
	}
	r.settled.Add(1)
}

func (r *route) save(ctx context.Context) error {
	if !r.dirty {
		return nil
	}
	if err := r.cfg.Cursors.SaveCursor(ctx, r.cursorName(), r.cursor); err != nil {
		return err
	}
	r.dirty = false
	r.floor.Store(r.cursor.Floor)
	return nil
}

// end stops the lanes, takes in what they still report, and saves the cursor.
func (r *route) end(parent context.Context) {
	r.stop()
	defer r.saving.Stop()
	go func() {
		r.workers.Wait()
		close(r.outcomes)
	}()
	for o := range r.outcomes {
		if o.err == nil {
			r.settle(o)
		}
	}
	if deposed(parent) {
		return
	}
	grace, done := context.WithTimeout(context.WithoutCancel(parent), stopGrace-attemptGrace)
	defer done()
	if err := r.save(grace); err != nil {
		r.cfg.Logger.Warn("cursor not saved, some deliveries will come twice", "endpoint", r.cfg.Name, "error", err)
	}
}
