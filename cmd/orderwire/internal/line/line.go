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

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/poller"
	"github.com/orderwire/orderwire/sources/postback"
)

// Line is a process's part of the line. Create it with [Open].
type Line struct {
	log      *slog.Logger
	embedded *jetstream.Embedded
	orders   *jetstream.Log
	leases   *jetstream.Leases // nil with an embedded log, which one process has alone
	parts    []*part
	pushes   *postback.Receiver // nil when no pushes are taken
	aged     *aged              // nil without endpoints

	mu        sync.Mutex // guards what sessions open and close
	pollers   map[string]*poller.Poller
	archive   *archive.Archive
	books     *commission.Books
	endpoints map[string]*webhook.Endpoint
}

// Open starts what the roles need. With an embedded log it opens all places, save
// an archive on a disk or a store that cannot be used at present; otherwise each
// is opened when this process has the lease. On an error, everything is closed
// again.
func Open(ctx context.Context, c *config.Config, roles []Role, log *slog.Logger) (*Line, error) {
	l := &Line{log: log, pollers: make(map[string]*poller.Poller), endpoints: make(map[string]*webhook.Endpoint)}
	if err := l.open(ctx, c, roles); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Line) open(ctx context.Context, c *config.Config, roles []Role) (err error) {
	if l.orders, l.embedded, err = openLog(ctx, c, l.log); err != nil {
		return err
	}
	for _, plan := range []struct {
		role  Role
		parts func(context.Context, *config.Config) error
	}{{Poll, l.planAccounts}, {Archive, l.planArchive}, {Commission, l.planCommission}, {Webhook, l.planWebhooks}} {
		if slices.Contains(roles, plan.role) {
			if err := plan.parts(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", plan.role, err)
			}
		}
	}
	if l.embedded == nil {
		l.leases, err = l.orders.Leases(ctx, jetstream.LeaseConfig{Logger: l.log})
		return err
	}
	for _, p := range l.parts {
		_, err := p.begin(ctx)
		var storage *archive.StorageError
		if errors.As(err, &storage) { // such as a full disk; Run and Once try again
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", p.kind, p.name, err)
		}
	}
	return nil
}

// Run polls and feeds the sinks until ctx ends. An account or a sink that fails
// is tried again and does not stop the others. What another process does, this
// one takes over when that ends.
func (l *Line) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range l.parts {
		group.Go(func() error {
			if l.leases == nil {
				return p.alone(ctx, l.log)
			}
			return (&shift{leases: l.leases, log: l.log}).run(ctx, p)
		})
	}
	return group.Wait()
}

// Close closes all places, then the log, then the embedded server.
func (l *Line) Close() error {
	var errs []error
	for _, p := range slices.Backward(l.parts) {
		errs = append(errs, p.end())
	}
	for _, e := range l.endpoints {
		e.Close()
	}
	errs = append(errs, l.aged.Close())
	if l.leases != nil {
		l.leases.Close()
	}
	if l.orders != nil {
		errs = append(errs, l.orders.Close())
	}
	if l.embedded != nil {
		errs = append(errs, l.embedded.Close())
	}
	return errors.Join(errs...)
}
