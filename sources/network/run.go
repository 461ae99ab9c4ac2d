package network

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// moveBatch is how many changes Run writes in a transaction; requests that
	// write wait for it.
	moveBatch = 100
	// leastWait lets changes of a fast simulation gather into batches.
	leastWait = 50 * time.Millisecond
	// mostWait bounds how long Run does not see what Seed and Step have done.
	mostWait = time.Second
)

// Run follows the simulation's clock from where it stands: it changes the
// orders that come due and adds new ones, until ctx is done or MaxMoves changes
// are made, and then returns nil. The error wraps [ErrNoWebsite] when there is
// nobody to give new orders to, or is a [*SeedError].
func (s *Simulator) Run(ctx context.Context) error {
	r, err := s.start(ctx)
	for timer := time.NewTimer(0); err == nil; {
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		var wait time.Duration
		if wait, err = r.turn(ctx); wait < 0 {
			return nil
		}
		timer.Reset(wait)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return fmt.Errorf("run the simulation: %w", err)
}

// runner is one Run.
type runner struct {
	*Simulator
	begun   time.Time
	clock   int64   // of the simulation when the run began, milliseconds
	every   float64 // milliseconds of the simulation between new orders, 0 for none
	arrived int64   // new orders of this run
}

// start finds out where the simulation stands.
func (s *Simulator) start(ctx context.Context) (*runner, error) {
	r := &runner{Simulator: s, begun: time.Now()}
	if s.config.NewOrdersPerHour > 0 {
		r.every = float64(time.Hour.Milliseconds()) / s.config.NewOrdersPerHour * s.config.Speed
	}
	return r, s.store.change(ctx, func(c *change) error {
		m, err := s.begin(ctx, c)
		if err == nil {
			r.clock = m.clock
		}
		return err
	})
}

// now is the simulation's clock.
func (r *runner) now() int64 {
	return r.clock + int64(float64(time.Since(r.begun))/float64(time.Millisecond)*r.config.Speed)
}

// arrival is when the next new order comes.
func (r *runner) arrival() (at int64, coming bool) {
	return r.clock + int64(float64(r.arrived+1)*r.every), r.every > 0
}

// turn makes what has come due and returns how long nothing more will, a
// negative time when the run is over.
func (r *runner) turn(ctx context.Context) (time.Duration, error) {
	until := r.now()
	next, err := r.next(ctx)
	if err != nil || next > until {
		return r.wait(next - until), err
	}
	over, arrived := false, r.arrived
	err = r.store.change(ctx, func(c *change) error {
		r.arrived = arrived // the change may be made again
		m, err := r.begin(ctx, c)
		if err != nil {
			return err
		}
		over, err = r.advance(ctx, m, until)
		return err
	})
	if over {
		return -1, nil
	}
	return 0, err
}

// wait turns a time on the simulation's clock into real time.
func (r *runner) wait(milliseconds int64) time.Duration {
	until := float64(milliseconds) / r.config.Speed * float64(time.Millisecond)
	return time.Duration(min(max(until, float64(leastWait)), float64(mostWait)))
}

// next is when something is due, on the simulation's clock.
func (r *runner) next(ctx context.Context) (int64, error) {
	const never = 1 << 62
	var due int64
	err := r.store.row(ctx, `SELECT COALESCE(MIN(due), ?) FROM simulated_orders WHERE due IS NOT NULL`, []any{int64(never)}, &due)
	if err != nil {
		return never, fmt.Errorf("next change: %w", err)
	}
	if at, coming := r.arrival(); coming {
		due = min(due, at)
	}
	return due, nil
}

// advance makes a batch of what is due until a time, and reports whether
// MaxMoves is reached.
func (r *runner) advance(ctx context.Context, m *motion, until int64) (over bool, err error) {
	limit := int64(moveBatch)
	if most := r.config.MaxMoves; most > 0 {
		limit = min(limit, most-m.moves)
	}
	if limit <= 0 {
		return true, nil
	}
	m.clock = max(m.clock, until)
	if err := r.admit(ctx, m, until); err != nil {
		return false, err
	}
	_, err = m.move(ctx, until, limit)
	return false, err
}

// admit adds the new orders that have arrived. Meanwhile the simulation's clock
// stands at the arrival of each, so that it is as new as it should be.
func (r *runner) admit(ctx context.Context, m *motion, until int64) error {
	defer func(clock int64) { m.clock = clock }(m.clock)
	for range moveBatch {
		at, coming := r.arrival()
		if !coming || at > until {
			break
		}
		m.clock = at
		if err := m.add(ctx); err != nil {
			return err
		}
		r.arrived++
	}
	return nil
}
