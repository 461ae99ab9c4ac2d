package webhook

import (
	"context"
	"time"
)

// deadline is the context of attempts that follow one another, each of which has its
// time: context and timer are made once for all that go well. One goroutine owns it.
type deadline struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc // nil when there is no context
	timer  *time.Timer
}

// begin returns the context of the next attempt. It ends with parent, or after limit
// with [context.DeadlineExceeded] as its cause.
func (d *deadline) begin(parent context.Context, limit time.Duration) context.Context {
	if d.cancel != nil && d.parent == parent {
		d.timer.Reset(limit)
		return d.ctx
	}
	d.end()
	ctx, cancel := context.WithCancelCause(parent)
	d.parent, d.ctx, d.cancel = parent, ctx, cancel
	d.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return ctx
}

// pass ends an attempt of which nothing is under way any more: the next one has the
// same context, unless that has ended.
func (d *deadline) pass() {
	if d.cancel != nil && (!d.timer.Stop() || d.ctx.Err() != nil) {
		d.end()
	}
}

// end ends the context; the next attempt gets another.
func (d *deadline) end() {
	if d.cancel == nil {
		return
	}
	d.timer.Stop()
	d.cancel(nil)
	*d = deadline{}
}
