package pipeline

import "context"

// done reports whether a drain has nothing left to do but wait for retries, also
// those that are held up because the endpoint wants less.
func (r *route) done() bool {
	if r.target == nil || r.window.newest < *r.target && r.window.open < r.cfg.Window {
		return false
	}
	if r.flying > 0 || r.writing || len(r.changes) > 0 {
		return false
	}
	return r.fresh.len()+r.due.len() == 0 || r.fresh.len() == 0 && r.pace.cut || r.paused()
}

func (r *route) drained(ctx context.Context) error {
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	close(r.drain.done)
	return nil
}

func (r *route) mark(seq uint64) {
	r.window.mark(seq)
	r.moved = true
	r.settled.Add(1)
	r.touch()
}

// touch has the cursor saved and the picture drawn soon.
func (r *route) touch() {
	if !r.touched {
		r.touched = true
		r.saving.Reset(saveEvery)
	}
}

// store has the cursor saved, beside the deliveries: a disk may take its time. While
// an earlier one is on its way, the next follows it.
func (r *route) store() {
	r.draw()
	if r.storing {
		return // touched: stored goes on
	}
	r.touched = false
	if !r.moved {
		return
	}
	cursor := r.window.cursor()
	r.moved, r.storing = false, true
	go func() {
		r.saved <- saved{floor: cursor.Floor, err: r.cfg.Cursors.SaveCursor(r.own, r.cursorName(), cursor)}
	}()
}

// saved is what came of storing a cursor.
type saved struct {
	floor uint64
	err   error
}

// kept takes in that a cursor is stored.
func (r *route) kept(s saved) error {
	r.storing = false
	if s.err != nil {
		r.moved = true
		return s.err
	}
	r.floor.Store(s.floor)
	if r.touched { // it was due meanwhile
		r.saving.Reset(saveEvery)
	}
	return nil
}

// settle waits for the cursor that is on its way.
func (r *route) settle() error {
	if !r.storing {
		return nil
	}
	return r.kept(<-r.saved)
}

// save stores the cursor at once; none is on its way.
func (r *route) save(ctx context.Context) error {
	if r.moved {
		if err := r.cfg.Cursors.SaveCursor(ctx, r.cursorName(), r.window.cursor()); err != nil {
			return err
		}
		r.moved = false
		r.floor.Store(r.window.floor)
	}
	r.touched = false
	r.draw()
	return nil
}

// draw makes the picture for Progress.
func (r *route) draw() {
	d := Delivery{
		Parked: r.parked, Waiting: r.parked, Oldest: r.window.oldest(), Broken: r.breaker.open, Rate: r.pace.now(),
		Paused: r.standing.wish.Paused, Reason: r.standing.wish.Reason,
	}
	if r.standing.disabled() {
		d.Disabled = r.standing.finding.Disabled
	}
	for _, o := range r.agenda {
		if !o.durable {
			d.Waiting++
		}
	}
	if r.parked > 0 {
		for _, o := range r.orders {
			if o.durable && (d.Oldest.IsZero() || o.Stored.Before(d.Oldest)) {
				d.Oldest = o.Stored
			}
		}
	}
	r.picture.Store(&d)
}
