package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// job is one attempt.
type job struct {
	order *order // belongs to the owner: the worker only hands it back
	entry *schema.Entry
	// recall has the entry read first: the next one of the order from there on, up
	// to limit.
	recall  *Parked
	limit   uint64
	tries   int  // with this one, from 1
	probe   bool // it does not count as an attempt
	retries bool // it takes one of the slots of parked orders
}

// outcome is what came of a job.
type outcome struct {
	job
	none   bool          // nothing is left to deliver
	cut    bool          // the end came before the outcome
	later  error         // no attempt was made, try again later
	failed error         // of the attempt
	final  bool          // no further attempt; the event is in the dead letters
	status int           // of the receiver's answer, 0 for none
	began  time.Time     // when the attempt did; zero when nobody keeps attempts
	took   time.Duration // from then on
	pause  time.Duration // that the receiver asked for
	err    error         // the route cannot go on
}

// recallPause is that before an event is read again which could not be read.
const recallPause = 30 * time.Second

// agedOutPause is that before looking again whether an aged-out event is there.
const agedOutPause = time.Hour

// work works on jobs until there are no more. own ends later than the route, so that
// the outcome of an attempt under way is known.
func (r *route) work(ctx, own context.Context) {
	s := r.sender()
	defer s.Close()
	for j := range r.jobs {
		r.outcomes <- r.do(ctx, own, s, j)
	}
}

// sender returns what makes the attempts of one worker.
func (c *Courier) sender() Sender {
	switch d := c.cfg.Deliverer.(type) {
	case Sending:
		return d.Sender()
	case Answering:
		return keepsNothing{d}
	default:
		return keepsNothing{silent{d}}
	}
}

// keepsNothing is a [Sender] of attempts that have nothing in common.
type keepsNothing struct{ Answering }

func (keepsNothing) Close() {}

// silent does not tell the status of an answer.
type silent struct{ Deliverer }

func (d silent) Attempt(ctx context.Context, e *schema.Entry) (int, error) {
	return 0, d.Deliver(ctx, e)
}

// do works on a job.
func (c *Courier) do(ctx, own context.Context, s Sender, j job) (o outcome) {
	o.job = j
	if ctx.Err() != nil {
		o.cut = true
		return o
	}
	if j.recall != nil && !c.recall(ctx, &o) {
		return o
	}
	if o.failed = c.deliver(own, s, &o); o.failed == nil {
		return o
	}
	if o.cut = own.Err() != nil; o.cut {
		return o
	}
	c.judge(&o)
	c.cfg.Logger.Warn("delivery failed", "endpoint", c.cfg.Name, "event", o.entry.Event.ID, "sequence", o.entry.Sequence,
		"attempt", o.tries, "error", o.failed, "final", o.final)
	if o.final {
		o.err = c.cfg.Bury(own, DeadLetter{
			Sink: c.cfg.Name, Reason: o.failed.Error(), Subject: o.entry.Subject, Sequence: o.entry.Sequence, Attempts: o.tries, Raw: o.entry.Raw,
		})
	}
	return o
}

// deliver makes the attempt, and takes its time if somebody keeps attempts.
func (c *Courier) deliver(ctx context.Context, s Sender, o *outcome) (err error) {
	if c.cfg.Attempted == nil {
		o.status, err = s.Attempt(ctx, o.entry)
		return err
	}
	o.began = time.Now()
	o.status, err = s.Attempt(ctx, o.entry)
	o.took = time.Since(o.began)
	return err
}

// judge reads what the error says of itself.
func (c *Courier) judge(o *outcome) {
	var answered interface{ Status() int }
	if errors.As(o.failed, &answered) {
		o.status = answered.Status()
	}
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(o.failed, &asks) {
		o.pause = asks.RetryAfter()
	}
	var permanent interface{ Permanent() bool }
	switch {
	case o.status == http.StatusGone && !c.finite:
	case errors.As(o.failed, &permanent) && permanent.Permanent():
		o.final = true
	default:
		o.final = !o.probe && o.tries > len(c.cfg.Schedule)
	}
}

// recall reads the event that a parked order is owed: the next one that the
// endpoint wants. It returns false when there is nothing to deliver.
func (c *Courier) recall(ctx context.Context, o *outcome) bool {
	p, poison := o.recall, false // a copy of the order's own
	for {
		e, found, err := c.cfg.Recall(ctx, p.Key, p.First)
		if errors.Is(err, ErrPoison) && e.Sequence >= p.First { // it was buried when it came along
			p.First, poison = e.Sequence+1, true
			continue
		}
		if err == nil && !poison {
			e, found, err = c.whole(ctx, p, e, found)
		}
		if err == nil && found && e.Sequence <= o.limit && ctx.Err() == nil && !c.wants(&e.Event) {
			p.First, p.Version = e.Sequence+1, e.Event.Data.Version+1
			continue
		}
		switch {
		case ctx.Err() != nil:
			o.cut = true
		case err != nil:
			o.later = err
		case !found || e.Sequence > o.limit:
			o.none = true
		default:
			o.entry = &e
			return true
		}
		return false
	}
}

// whole makes sure that no event of an order has aged out of the log between
// the one that it is owed and the one that was found, and asks the archive.
func (c *Courier) whole(ctx context.Context, p *Parked, e schema.Entry, found bool) (schema.Entry, bool, error) {
	if c.cfg.Retention.First == nil || found && (e.Event.Data.Version <= p.Version || e.Sequence == p.Single) {
		return e, found, nil
	}
	first, err := c.cfg.Retention.First(ctx)
	if err != nil || first <= p.First {
		return e, found, err
	}
	if c.cfg.Archive != nil {
		old, there, err := c.cfg.Archive(ctx, p.Key, p.First)
		switch {
		case errors.Is(err, ErrGone):
		case err != nil || there:
			return old, there, err
		default:
			return e, found, nil
		}
	}
	if first-1 <= c.cfg.Retention.Skip {
		return e, found, nil
	}
	return e, found, &GapError{Name: fmt.Sprintf("endpoint %s", c.cfg.Name), From: p.First, Until: first - 1, Hint: c.cfg.Retention.Hint(p.First, first-1)}
}

// class names a failure in a few bytes, without any of the payload.
func (o *outcome) class() string {
	switch {
	case o.status != 0:
		return strconv.Itoa(o.status)
	case errors.Is(o.failed, context.DeadlineExceeded):
		return "timeout"
	default:
		return "no answer"
	}
}

// jitter moves a pause by up to a tenth either way, so that endpoints that
// failed together do not come back together.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // no secret hangs on it
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
