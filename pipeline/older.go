package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/orderwire/orderwire/schema"
)

// ErrGone says that not all events that were asked for are to be had: they have
// aged out of the log, and the archive has not all of them.
var ErrGone = errors.New("not all of these events are in the archive")

// Older reads the events of a range of sequences, both included, that have aged
// out of the log, in its order, each once. The error wraps [ErrGone] when not all
// of them are to be had, and then no event comes before it. After any other error
// the range is read again, later.
type Older func(ctx context.Context, from, until uint64) iter.Seq2[schema.Entry, error]

// older is the reading of what has aged out of the log, before the route follows
// the log.
type older struct {
	gap  *GapError
	in   chan schema.Entry
	err  error // once in is closed
	stop context.CancelFunc
	done sync.WaitGroup
}

// end lets go of the reading. It may be nil.
func (o *older) end() {
	if o != nil {
		o.stop()
		o.done.Wait()
	}
}

// follow reads on behind the newest event taken: in the log, or what has aged out
// of it first where that is kept.
func (r *route) follow(ctx context.Context) error {
	next, err := r.behind(ctx, r.window.newest)
	if err != nil {
		return r.missing(ctx, err)
	}
	r.window.newest = next
	ctx, r.unfollow = context.WithCancel(ctx)
	read := r.cfg.Follow.parsed
	if r.cfg.Tail != nil {
		read = r.cfg.Tail.Follow
	}
	if r.in, err = read(ctx, next); err != nil {
		return err
	}
	r.failed.Store(nil)
	return nil
}

// missing begins to read what the log has no more. The error is err when nobody
// keeps that, or when it is no [GapError].
func (r *route) missing(ctx context.Context, err error) error {
	var gap *GapError
	if !errors.As(err, &gap) || r.cfg.Older == nil {
		return err
	}
	if r.unfollow != nil {
		r.unfollow()
		r.in, r.some = nil, nil // it is read again, behind what is missing
	}
	r.cfg.Logger.Info("endpoint takes from the archive what has aged out of the log", "endpoint", r.cfg.Name, "from", gap.From, "until", gap.Until)
	ctx, stop := context.WithCancel(ctx)
	o := &older{gap: gap, in: make(chan schema.Entry), stop: stop}
	o.done.Go(func() {
		defer close(o.in)
		o.err = feed(ctx, r.cfg.Older(ctx, gap.From, gap.Until), o.in)
	})
	r.window.newest = max(r.window.newest, gap.From-1) // what is between was settled before, or is passed over
	r.older, r.entries = o, o.in
	return nil
}

// caughtUp goes on behind what was read from the archive.
func (r *route) caughtUp(ctx context.Context) error {
	o := r.older
	r.older = nil
	o.end()
	switch {
	case errors.Is(o.err, ErrGone):
		return o.gap
	case o.err != nil:
		return fmt.Errorf("events %d to %d, which have aged out of the log: %w", o.gap.From, o.gap.Until, o.err)
	}
	r.window.newest = max(r.window.newest, o.gap.Until)
	r.window.pass()
	r.moved = true
	r.touch()
	return r.follow(ctx)
}
