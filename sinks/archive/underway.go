package archive

import "context"

// underway is a batch that a goroutine of its own commits while the next one
// grows. One at a time is under way, and until it is done the encoder and the
// place are its alone.
type underway struct {
	batch  *buffer
	repeat *intent // what the batch repeats, nil for nothing
	cancel context.CancelFunc
	done   chan struct{} // closed at the end
	err    error         // set before
}

// cut ends the batch that grows: its commit begins when the one before it has
// ended, and goes on when cut has returned, also when ctx ends behind that. The
// error is that of the commit before.
func (a *Archive) cut(ctx context.Context) error {
	if err := a.await(ctx); err != nil {
		return err
	}
	if a.buffer.rows == 0 {
		return a.abandon(ctx)
	}
	u := &underway{batch: a.buffer, repeat: a.repeat, done: make(chan struct{})}
	ctx, u.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.underway, a.repeat = u, nil
	if a.buffer, a.spare = a.spare, nil; a.buffer == nil {
		a.buffer = newBuffer()
	}
	go func() {
		defer close(u.done)
		defer u.cancel()
		u.err = a.commit(ctx, u)
	}()
	return nil
}

// await waits for the commit under way, if there is one, and gives it up when
// ctx ends. After its error the buffer is empty and Position has to be asked.
func (a *Archive) await(ctx context.Context) error {
	u := a.underway
	if u == nil {
		return nil
	}
	select {
	case <-u.done:
	case <-ctx.Done():
		u.cancel()
		<-u.done
	}
	a.underway = nil
	if 2*u.batch.bytes >= a.cfg.RollBytes { // the next is probably as large, so the memory is kept
		a.spare = u.batch
		a.spare.reset()
	}
	if u.err != nil {
		a.broken = ErrPosition
		a.buffer.reset()
	}
	return u.err
}

// over reports whether the commit under way has ended.
func (u *underway) over() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// finish commits what is buffered, and returns when all of it is in the archive
// for good.
func (a *Archive) finish(ctx context.Context) error {
	if err := a.cut(ctx); err != nil {
		return err
	}
	return a.await(ctx)
}
