package line

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// drainLimit bounds how long the sinks may take to catch up in [Line.Once]
// without any progress being lost: what is left is done at the next start.
const drainLimit = 10 * time.Minute

// Once polls every account once, waits until the sinks have taken everything
// that is in the log then, and returns the errors of the accounts that failed.
// What another process is doing is left to that one.
func (l *Line) Once(ctx context.Context) error {
	sinks, stop := context.WithCancel(ctx)
	defer stop()
	if err := l.planAdded(ctx); err != nil {
		return err
	}
	parts := l.all()
	polled := make(chan struct{}) // closed when the accounts are done
	running, sinks := errgroup.WithContext(sinks)
	for _, p := range parts {
		if p.kind != "account" && p.open != nil {
			running.Go(func() error {
				return l.once(sinks, p, func(ctx context.Context, own *session) error { return l.feed(ctx, own, polled) })
			})
		}
	}
	failures := l.pollAll(ctx, parts)
	close(polled)
	return errors.Join(failures, running.Wait())
}

// once works on a part in this process, or leaves it to the one that has it.
func (l *Line) once(ctx context.Context, p *part, work func(context.Context, *session) error) error {
	if l.leases == nil {
		own := p.now.Load()
		if own == nil {
			var err error
			if own, err = p.begin(ctx); err != nil {
				return fmt.Errorf("%s %s: %w", p.kind, p.name, err)
			}
		}
		return work(ctx, own)
	}
	err := (&shift{leases: l.leases, log: l.log}).turn(ctx, p, l.leases.TryAcquire, work)
	var held *jetstream.HeldError
	if errors.As(err, &held) {
		l.log.Info("another process does this work, it is left to that one", p.kind, p.name, "holder", held.Holder)
		return nil
	}
	return err
}

func (l *Line) pollAll(ctx context.Context, parts []*part) error {
	failures := make([]error, len(parts))
	var polls sync.WaitGroup
	for i, p := range parts {
		if p.kind == "account" {
			polls.Go(func() {
				failures[i] = l.once(ctx, p, func(ctx context.Context, own *session) error { return own.poll(ctx) })
			})
		}
	}
	polls.Wait()
	return errors.Join(failures...)
}

// feed runs a sink until it has what is in the log after the polls.
func (l *Line) feed(ctx context.Context, own *session, polled <-chan struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return own.run(ctx) })
	group.Go(func() error {
		select {
		case <-polled:
		case <-ctx.Done():
			return ctx.Err()
		}
		last, err := l.orders.Last(ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, drainLimit)
		defer cancel()
		return own.feed.Drain(ctx, last)
	})
	return group.Wait()
}
