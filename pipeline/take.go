package pipeline

import (
	"context"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// takeSome takes what has come in, as long as the window has room.
func (r *route) takeSome(ctx context.Context) error {
	for len(r.some) > 0 && r.window.open < r.cfg.Window {
		p := r.some[0]
		r.some[0] = Parsed{}
		r.some = r.some[1:]
		if err := r.take(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// take puts a message into its order's lane.
func (r *route) take(ctx context.Context, p Parsed) error {
	e := p.Entry
	if p.fatal() {
		return p.Err
	}
	if e.Sequence <= r.window.newest {
		return nil
	}
	if e.Sequence > r.window.newest+1 { // the log may have lost what is between, only just
		if _, err := r.behind(ctx, r.window.newest); err != nil {
			return r.missing(ctx, err)
		}
	}
	if !r.admit(e.Sequence, e.Stored) {
		return nil
	}
	if p.Err != nil {
		letter := DeadLetter{Sink: r.cfg.Name, Reason: p.Err.Error(), Subject: e.Subject, Sequence: e.Sequence, Attempts: 1, Raw: e.Raw}
		if err := r.cfg.Bury(ctx, letter); err != nil {
			return err
		}
		r.mark(e.Sequence)
		return nil
	}
	if !r.wants(&e.Event) {
		r.mark(e.Sequence)
		return nil
	}
	r.enqueue(e)
	return nil
}

// admit takes an event into the window. It returns false when an earlier pass has
// settled it.
func (r *route) admit(seq uint64, stored time.Time) bool {
	r.window.newest = seq
	if r.window.settledBefore(seq) {
		r.window.pass()
		r.moved = true
		r.touch()
		return false
	}
	if r.window.add(seq, stored); r.window.open == 1 {
		r.touch() // now something is owed
	}
	return true
}

// enqueue puts an entry into its order's lane. One of a parked order is noted
// only, and settled: it is in the log.
func (r *route) enqueue(e *schema.Entry) {
	key := laneKey{OrderKey: e.Event.Key()}
	if r.cfg.Unordered {
		key.single = e.Sequence
	}
	if len(r.ahead) > 0 && r.overtaken(key, e.Sequence) {
		return
	}
	o := r.orders[key]
	switch {
	case o == nil:
		o = r.newOrder(key)
		o.queue = append(o.queue, e)
		r.orders[key] = o
		r.fresh.push(o)
	case o.durable:
		o.noted = max(o.noted, e.Sequence)
		r.mark(e.Sequence)
	default:
		o.queue = append(o.queue, e)
	}
}

// overtaken settles an event that was delivered from the log before it came along:
// an order that was parked before this pass was read up to the horizon.
func (r *route) overtaken(key laneKey, seq uint64) bool {
	if seq >= r.horizon {
		defer clear(r.ahead)
	}
	if next, ok := r.ahead[key]; !ok || seq >= next {
		return false
	}
	r.mark(seq)
	return true
}

func (r *route) newOrder(key laneKey) *order {
	if n := len(r.spare); n > 0 {
		o := r.spare[n-1]
		r.spare = r.spare[:n-1]
		o.Parked = Parked{Key: key.OrderKey, Single: key.single}
		o.state = ready
		return o
	}
	return &order{Parked: Parked{Key: key.OrderKey, Single: key.single}}
}
