package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/tracing"
)

// summaryEvery is the pause between two lines that say how the line goes.
const summaryEvery = time.Minute

// runFlags are the flags of `orderwire run`.
type runFlags struct {
	file string
	only string
	once bool
}

func newRun(o *options) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Poll the accounts, keep the log, feed the sinks",
		Long: `Runs the whole line until SIGTERM or SIGINT, then ends cleanly with exit code 0:
polls every account, and fetches at once the orders that the network pushes where
that is configured, publishes what changed, writes the archive, delivers the
webhooks and keeps the commission sums. It resumes where it was, also after a
crash. Only one process can use a data directory. With nats.url, on NATS servers
(2.12 or newer, with JetStream), several processes share the work and stand by for
each other: every account, sink and endpoint is one process's at a time, and
another's within 10 seconds of its death.

An account or a sink that fails is tried again and does not stop the others.`,
		Example: `  orderwire run -c orderwire.yaml
  orderwire run -c orderwire.yaml --once
  orderwire run -c orderwire.yaml --only poll,commission`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runLine(c.Context(), o, f) },
	}
	configFlag(c, &f.file)
	c.Flags().StringVar(&f.only, "only", "", "roles of this process: poll,archive,webhook,commission (default all)")
	c.Flags().BoolVar(&f.once, "once", false, "poll every account once, let the sinks catch up, and end")
	return c
}

func runLine(ctx context.Context, o *options, f runFlags) (err error) {
	c, err := config.Load(f.file)
	if err != nil {
		return err
	}
	roles, err := line.ParseRoles(f.only)
	if err != nil {
		return usageError{err}
	}
	log := o.logger()
	flush, err := tracing.Start(ctx, &c.Tracing, log)
	if err != nil {
		return err
	}
	defer flush(context.WithoutCancel(ctx))
	l, err := line.Open(ctx, c, roles, log)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	log.Info("line is running", "accounts", len(c.Accounts), "webhooks", len(c.Webhooks), "roles", fmt.Sprint(roles), "data", c.DataDir)
	if f.once {
		err := l.Once(ctx)
		summarize(context.WithoutCancel(ctx), log, l)
		return interrupted(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.Run(ctx) })
	group.Go(func() error { return serveStatus(ctx, c, l, log) })
	group.Go(func() error { return servePostback(ctx, c, l, log) })
	group.Go(func() error { return summaries(ctx, log, l) })
	err = interrupted(ctx, group.Wait())
	log.Info("line has ended")
	return err
}

// interrupted takes an error that came of a signal for the clean end it is.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// summaries writes a line now and then, while something moves.
func summaries(ctx context.Context, log *slog.Logger, l *line.Line) error {
	tick := time.NewTicker(summaryEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			summarize(ctx, log, l)
		case <-ctx.Done():
			return nil
		}
	}
}

func summarize(ctx context.Context, log *slog.Logger, l *line.Line) {
	s, err := l.Status(ctx)
	if err != nil {
		log.Warn("no status", "error", err)
		return
	}
	var lags []string
	for _, sink := range s.Sinks {
		switch {
		case sink.Standby:
			lags = append(lags, sink.Name+":standby")
			continue
		case sink.Closed:
			lags = append(lags, sink.Name+":cannot be opened")
			continue
		}
		lags = append(lags, fmt.Sprintf("%s:%d", sink.Name, sink.Lag))
	}
	log.Info("status", "events", s.Last, "orders", s.Orders, "lag", strings.Join(lags, " "))
	for _, a := range s.Accounts {
		if a.Standby {
			log.Info("account", "name", a.Name, "standby", true, "holder", a.Holder)
			continue
		}
		log.Info("account", "name", a.Name, "polls", a.Polls, "created", a.Created, "changed", a.Changed, "unchanged", a.Unchanged, "failure", a.Failure)
	}
}
