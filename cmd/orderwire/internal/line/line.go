// Package line puts the whole line together from a configuration: the log,
// the pollers, and the sinks with their runners.
package line

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/poller"
)

// drainLimit bounds how long the sinks may take to catch up in [Line.Once]
// without any progress being lost: what is left is done at the next start.
const drainLimit = 10 * time.Minute

// Line is a process's part of the line. Create it with [Open].
type Line struct {
	log       *slog.Logger
	embedded  *jetstream.Embedded
	orders    *jetstream.Log
	pollers   []*poller.Poller
	runners   []follower
	archive   *archive.Archive
	books     *commission.Books
	endpoints []*webhook.Endpoint
	closers   []func() error
}

// follower is a sink's runner or an endpoint's courier.
type follower interface {
	Run(ctx context.Context) error
	Drain(ctx context.Context, upTo uint64) error
	Progress() pipeline.Progress
}

// Open starts what the roles need and opens their places. On an error,
// everything is closed again.
func Open(ctx context.Context, c *config.Config, roles []Role, log *slog.Logger) (*Line, error) {
	l := &Line{log: log}
	if err := l.open(ctx, c, roles); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Line) open(ctx context.Context, c *config.Config, roles []Role) (err error) {
	if l.orders, l.embedded, err = openLog(ctx, c, l.log); err != nil {
		return err
	}
	for _, step := range []struct {
		role Role
		open func(context.Context, *config.Config) error
	}{{Poll, l.openPollers}, {Archive, l.openArchive}, {Commission, l.openCommission}, {Webhook, l.openWebhooks}} {
		if slices.Contains(roles, step.role) {
			if err := step.open(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", step.role, err)
			}
		}
	}
	return nil
}

func (l *Line) openPollers(ctx context.Context, c *config.Config) error {
	if err := l.orders.LoadIndex(ctx); err != nil {
		return err
	}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		client, err := a.Client(l.log)
		if err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		account, err := a.Poller()
		if err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		l.pollers = append(l.pollers, poller.New(poller.Config{
			Account: account, Network: client, Log: l.orders, Publisher: l.orders.Publisher(), Logger: l.log,
		}))
	}
	return nil
}

func (l *Line) openArchive(ctx context.Context, c *config.Config) (err error) {
	if l.archive, err = archive.Open(ctx, c.Archive.Sink(l.log)); err != nil {
		return err
	}
	l.closers = append(l.closers, l.archive.Close)
	l.runners = append(l.runners, pipeline.NewRunner(pipeline.RunnerConfig{
		Name: string(Archive), Sink: l.archive, Follow: l.orders.Follow, Bury: l.orders.Bury,
		FlushEvery: time.Duration(c.Archive.RollEvery), Logger: l.log,
	}))
	return nil
}

func (l *Line) openCommission(ctx context.Context, c *config.Config) (err error) {
	if l.books, err = commission.Open(ctx, string(c.Commission.DSN)); err != nil {
		return err
	}
	l.closers = append(l.closers, l.books.Close)
	l.runners = append(l.runners, pipeline.NewRunner(pipeline.RunnerConfig{
		Name: string(Commission), Sink: l.books, Follow: l.orders.Follow, Bury: l.orders.Bury, Logger: l.log,
	}))
	return nil
}

func (l *Line) openWebhooks(_ context.Context, c *config.Config) error {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		endpoint, err := webhook.New(w.Endpoint(l.log))
		if err != nil {
			return err
		}
		l.endpoints = append(l.endpoints, endpoint)
		l.closers = append(l.closers, func() error { endpoint.Close(); return nil })
		l.runners = append(l.runners, pipeline.NewCourier(pipeline.CourierConfig{
			Name: w.Name, Deliverer: endpoint, Follow: l.orders.Follow, Bury: l.orders.Bury, Cursors: l.orders,
			Concurrency: w.Concurrency, Schedule: w.Schedule(), Logger: l.log,
		}))
	}
	return nil
}

// Run polls and feeds the sinks until ctx ends. An account or a sink that fails
// is tried again and does not stop the others.
func (l *Line) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range l.pollers {
		group.Go(func() error { return p.Run(ctx) })
	}
	for _, r := range l.runners {
		group.Go(func() error { return r.Run(ctx) })
	}
	return group.Wait()
}

// Once polls every account once, waits until the sinks have taken everything
// that is in the log then, and returns the errors of the accounts that failed.
func (l *Line) Once(ctx context.Context) error {
	sinks, stop := context.WithCancel(ctx)
	defer stop()
	running, sinks := errgroup.WithContext(sinks)
	for _, r := range l.runners {
		running.Go(func() error { return r.Run(sinks) })
	}
	polled := l.pollAll(ctx)
	drained := l.drain(ctx)
	stop()
	return errors.Join(polled, drained, running.Wait())
}

func (l *Line) pollAll(ctx context.Context) error {
	failures := make([]error, len(l.pollers))
	var polls sync.WaitGroup
	for i, p := range l.pollers {
		polls.Go(func() { failures[i] = p.Poll(ctx) })
	}
	polls.Wait()
	return errors.Join(failures...)
}

func (l *Line) drain(ctx context.Context) error {
	last, err := l.orders.Last(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range l.runners {
		group.Go(func() error { return r.Drain(ctx, last) })
	}
	return group.Wait()
}

// Close closes all places, then the log, then the embedded server.
func (l *Line) Close() error {
	var errs []error
	for _, c := range slices.Backward(l.closers) {
		errs = append(errs, c())
	}
	if l.orders != nil {
		errs = append(errs, l.orders.Close())
	}
	if l.embedded != nil {
		errs = append(errs, l.embedded.Close())
	}
	return errors.Join(errs...)
}
