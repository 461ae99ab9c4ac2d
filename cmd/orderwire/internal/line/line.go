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

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/tracing"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/poller"
	"github.com/orderwire/orderwire/sources/postback"
)

// Line is a process's part of the line. Create it with [Open].
type Line struct {
	log         *slog.Logger
	embedded    *jetstream.Embedded
	orders      *jetstream.Log
	leases      *jetstream.Leases        // nil with an embedded log, which one process has alone
	attempts    *jetstream.AttemptWriter // nil without webhooks
	attemptsEnd func()                   // stores what is left of them; nil without webhooks
	counts      attemptCounts
	config      *config.Config
	manager     *endpoints.Manager
	tracer      trace.Tracer       // nil when nothing is traced
	delivers    bool               // the role Webhook is among those of this process
	pushes      *postback.Receiver // nil when no pushes are taken
	aged        *aged              // nil without endpoints
	tail        *pipeline.Tail     // that all endpoints read; nil without them
	now         func() time.Time
	begun       time.Time // when it was opened
	asking      singleflight.Group
	stalls      stalls

	mu        sync.Mutex // guards what sessions open and close, and what comes and goes
	parts     []*part
	pollers   map[string]*poller.Poller
	archive   *archive.Archive
	books     *commission.Books
	endpoints map[string]*webhook.Endpoint
	past      webhook.Stats // of endpoints that were replaced or removed
}

// Open starts what the roles need. With an embedded log it opens all places, save
// an archive on a disk or a store that cannot be used at present; otherwise each
// is opened when this process has the lease. On an error, everything is closed
// again.
func Open(ctx context.Context, c *config.Config, roles []Role, log *slog.Logger) (*Line, error) {
	l := &Line{
		log: log, config: c, tracer: tracing.Tracer(&c.Tracing), pollers: make(map[string]*poller.Poller),
		endpoints: make(map[string]*webhook.Endpoint), now: time.Now, begun: time.Now(),
	}
	if err := l.open(ctx, c, roles); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Line) open(ctx context.Context, c *config.Config, roles []Role) (err error) {
	if l.orders, l.embedded, err = openLog(ctx, c, l.log); err != nil {
		return err
	}
	l.manager, l.delivers = endpoints.New(c, l.orders, l.log), slices.Contains(roles, Webhook)
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
	for _, p := range l.all() {
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
// is tried again and does not stop the others. Endpoints that are added or removed
// meanwhile come and go. What another process does, this
// one takes over when that ends.
func (l *Line) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range l.all() {
		group.Go(func() error { return l.runPart(ctx, p) })
	}
	if l.tail != nil {
		group.Go(func() error { return l.tail.Run(ctx) })
	}
	if l.delivers {
		group.Go(func() error { return l.runAdded(ctx) })
	}
	return group.Wait()
}

// runPart does a part's work until ctx ends, alone or in turns with other processes.
func (l *Line) runPart(ctx context.Context, p *part) error {
	if l.leases == nil {
		return p.alone(ctx, l.log)
	}
	return (&shift{leases: l.leases, log: l.log}).run(ctx, p)
}

// all returns the parts that there are at the moment.
func (l *Line) all() []*part {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.parts)
}

// Endpoints manages the receivers of webhooks.
func (l *Line) Endpoints() *endpoints.Manager { return l.manager }

// Close closes all places, then the log, then the embedded server.
func (l *Line) Close() error {
	var errs []error
	for _, p := range slices.Backward(l.all()) {
		errs = append(errs, p.end())
	}
	for _, e := range l.endpoints {
		e.Close()
	}
	errs = append(errs, l.aged.Close())
	if l.leases != nil {
		l.leases.Close()
	}
	if l.attemptsEnd != nil {
		l.attemptsEnd()
	}
	if l.orders != nil {
		errs = append(errs, l.orders.Close())
	}
	if l.embedded != nil {
		errs = append(errs, l.embedded.Close())
	}
	return errors.Join(errs...)
}
