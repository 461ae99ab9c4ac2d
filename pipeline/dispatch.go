package pipeline

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// dispatch begins attempts as long as there are slots.
func (r *route) dispatch(ctx context.Context) {
	r.resume = time.Time{}
	if r.standing.stopped() {
		return
	}
	for r.flying < r.cfg.Concurrency {
		retry, some := r.choose()
		if !some {
			return
		}
		probe, ok, at := r.breaker.allow(r.now)
		if !ok {
			r.resume = at
			return
		}
		if wait := r.pace.take(r.now); wait > 0 {
			r.resume = r.now.Add(wait)
			return
		}
		queue := &r.fresh
		if retry {
			queue = &r.due
		}
		r.breaker.probing = probe
		r.dueNext = !retry
		r.begin(ctx, queue.pop(), retry, probe)
	}
}

// choose says which queue is next: they take turns, and retries, which may hang
// for as long as an attempt may take, have half of the slots at most.
func (r *route) choose() (retry, some bool) {
	fresh := r.fresh.len() > 0
	due := r.due.len() > 0 && r.retrying < max(1, r.cfg.Concurrency/2)
	return due && (r.dueNext || !fresh), fresh || due
}

// paused reports whether attempts are held up for longer than a rate limit does.
func (r *route) paused() bool {
	return r.standing.stopped() || r.breaker.open || r.pace.until.After(r.now)
}

// begin hands an attempt to a worker.
func (r *route) begin(ctx context.Context, o *order, retry, probe bool) {
	o.state = flying
	j := job{order: o, tries: o.Attempts + 1, probe: probe, retries: retry}
	if o.durable {
		p := o.Parked
		j.recall, j.limit = &p, o.noted
	} else {
		j.entry = o.queue[o.head]
	}
	r.flying++
	if retry {
		r.retrying++
	}
	if r.workers < r.flying {
		r.workers++
		go r.work(ctx, r.own)
	}
	r.jobs <- j
}

// concludeAll takes in an outcome, and those that are there as well: a turn of the
// loop costs about as much as an outcome.
func (r *route) concludeAll(ctx context.Context, o outcome) error {
	for {
		if err := r.conclude(ctx, o); err != nil || len(r.outcomes) == 0 {
			return err
		}
		o = <-r.outcomes // nobody else receives
	}
}

// conclude takes in what came of an attempt.
func (r *route) conclude(ctx context.Context, o outcome) error {
	r.flying--
	if o.retries {
		r.retrying--
	}
	if o.probe {
		r.breaker.probing = false
	}
	r.pace.answers++
	switch {
	case o.err != nil:
		r.tell(&o, OutcomeFailed, time.Time{}) // it comes again, which is not planned yet
		return o.err
	case o.cut:
		r.again(o.order)
		return nil
	case o.later != nil:
		r.postpone(o)
		return nil //nolint:nilerr // it is tried again later
	case o.none:
		r.advance(o.order, o.limit+1, o.recall.Version)
		return nil
	case o.failed != nil:
		return r.fail(ctx, o)
	}
	if r.breaker.success() {
		r.cfg.Logger.Info("endpoint takes deliveries again", "endpoint", r.cfg.Name)
		if err := r.saveStanding(ctx); err != nil {
			return err
		}
	}
	r.tell(&o, OutcomeDelivered, time.Time{})
	r.pass(o)
	return nil
}

// pass goes on behind an event that was delivered or given up.
func (r *route) pass(o outcome) {
	if o.order.durable {
		r.settled.Add(1)
		r.advance(o.order, o.entry.Sequence+1, o.entry.Event.Data.Version+1)
		return
	}
	r.mark(o.entry.Sequence)
	r.next(o.order)
}

// next goes on with the next event of a lane.
func (r *route) next(o *order) {
	if o.drop() {
		o.Attempts = 0
		r.again(o)
		return
	}
	delete(r.orders, o.lane())
	if len(r.spare) < cap(r.jobs) {
		r.spare = append(r.spare, o)
	}
}

// advance goes on with what a parked order is owed from a sequence on.
func (r *route) advance(o *order, first, version uint64) {
	o.First, o.Version, o.Attempts = first, version, 0
	if first > o.noted {
		r.unpark(o)
		return
	}
	r.change(o)
	r.again(o)
}

// again puts an order behind the others that are ready.
func (r *route) again(o *order) {
	o.state = ready
	if o.durable || o.Attempts > 0 {
		r.due.push(o)
	} else {
		r.fresh.push(o)
	}
}

// postpone lets a parked order wait whose event could not be read.
func (r *route) postpone(o outcome) {
	r.cfg.Logger.Warn("the event of a parked order cannot be read", "endpoint", r.cfg.Name, "sequence", o.order.First, "error", o.later)
	o.order.Class, o.order.Next = "not read", r.now.Add(recallPause)
	if isGap(o.later) {
		o.order.Class, o.order.Next = "aged out", r.now.Add(agedOutPause)
	}
	r.rest(o.order)
	r.touch()
}

// fail lets an order wait whose event was not taken, or passes the event over
// when it is in the dead letters.
func (r *route) fail(ctx context.Context, o outcome) error {
	if o.status == http.StatusGone && !r.finite {
		r.tell(&o, OutcomeFailed, time.Time{})
		r.again(o.order)
		return r.disable(ctx)
	}
	if o.pause > 0 || slices.Contains(tooFast, o.status) {
		r.pace.slow(r.now, o.pause, o.pause > 0 || o.status == http.StatusTooManyRequests)
	}
	wasOpen := r.breaker.open
	if opens := !o.final && r.breaker.failure(o.order.lane(), r.now, o.probe); opens {
		r.cfg.Logger.Error("every delivery fails; the endpoint is paused and probed", "endpoint", r.cfg.Name, "error", o.failed)
		if err := r.saveStanding(ctx); err != nil {
			return err
		}
	}
	if wasOpen && !o.final { // it does not count
		r.tell(&o, OutcomeFailed, r.breaker.at)
		r.again(o.order)
		return nil
	}
	return r.retry(o)
}

// tooFast are answers by which a receiver wants less.
var tooFast = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// retry sets the time of the next attempt.
func (r *route) retry(out outcome) error {
	o := out.order
	o.Class, o.Stored = out.class(), out.entry.Stored
	o.First, o.Version = out.entry.Sequence, out.entry.Event.Data.Version
	switch {
	case out.final && r.cfg.HoldExhausted && r.cfg.Parked != nil:
		o.Held, o.Attempts = true, out.tries
		r.tell(&out, OutcomeGivenUp, time.Time{})
	case out.final:
		r.tell(&out, OutcomeGivenUp, time.Time{})
		r.pass(out)
		return nil
	default:
		o.Attempts = out.tries
		o.Next = r.now.Add(max(jitter(r.cfg.Schedule[out.tries-1]), out.pause))
		r.tell(&out, OutcomeFailed, r.nextOf(o))
	}
	switch {
	case o.durable:
		r.change(o)
		r.rest(o)
	case r.cfg.Parked != nil:
		r.park(o)
	default:
		r.rest(o)
	}
	r.touch()
	return nil
}

// release tries a parked order again now.
func (r *route) release(o *order, skip bool) {
	if o.state == waiting {
		r.agenda.remove(o)
	}
	o.Held, o.Next, o.state = false, r.now, ready
	if skip {
		r.advance(o, o.First+1, o.Version+1)
		return
	}
	o.Attempts = 0
	r.change(o)
	r.again(o)
}
