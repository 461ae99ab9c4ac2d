package pipeline

import (
	"context"
	"time"
)

// end waits for attempts under way, takes in what came of them, and saves all.
func (r *route) end(parent context.Context) {
	unhook := r.hurry(parent)
	r.stop()
	r.older.end()
	defer unhook()
	defer r.saving.Stop()
	defer r.timer.Stop()
	defer close(r.jobs)
	ctx := context.WithoutCancel(parent)
	r.now = time.Now()
	for r.flying > 0 {
		o := <-r.outcomes
		if deposed(parent) {
			r.flying--
			continue
		}
		if err := r.conclude(ctx, o); err != nil {
			r.cfg.Logger.Warn("the outcome of an attempt is lost, the event comes again", "endpoint", r.cfg.Name, "error", err)
		}
	}
	failed := false
	if r.writing {
		failed = r.stored(<-r.written) != nil
	}
	if err := r.settle(); err != nil { // last tries again
		r.cfg.Logger.Warn("the cursor was not saved", "endpoint", r.cfg.Name, "error", err)
	}
	if deposed(parent) {
		return
	}
	grace, done := context.WithTimeout(ctx, stopGrace-attemptGrace)
	defer done()
	if err := r.last(grace, failed); err != nil {
		r.cfg.Logger.Warn("not everything was saved, some deliveries will come twice", "endpoint", r.cfg.Name, "error", err)
	}
}

// last stores what the store does not know yet. When an earlier write has failed,
// the orders that it was to park stay in the window, and come again.
func (r *route) last(ctx context.Context, failed bool) error {
	if !failed && len(r.changes) > 0 {
		put, gone := r.batch()
		if err := r.stored(r.cfg.Parked.SaveParked(ctx, r.cfg.Name, put, gone)); err != nil {
			return err
		}
	}
	return r.save(ctx)
}

// hurry bounds the attempts that are under way at the end: at once when another
// process has the work, else after a moment.
func (r *route) hurry(parent context.Context) (unhook func()) {
	if deposed(parent) {
		r.endOwn()
		return func() {}
	}
	late := time.AfterFunc(attemptGrace, r.endOwn)
	early := context.AfterFunc(parent, func() {
		if deposed(parent) {
			r.endOwn()
		}
	})
	return func() {
		late.Stop()
		early()
		r.endOwn()
	}
}
