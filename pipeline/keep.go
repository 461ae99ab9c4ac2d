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
