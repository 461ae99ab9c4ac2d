package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
)

// replayFlags are the flags of `orderwire replay`.
type replayFlags struct {
	file, form        string
	to, since, before string
	request           replay.Request
}

// add adds those that all commands have which replay.
func (f *replayFlags) add(c *cobra.Command) {
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "json")
	q, flags := &f.request, c.Flags()
	flags.Uint64Var(&q.From, "from", 0, "first sequence (for commission: behind what is booked)")
	flags.Uint64Var(&q.Until, "until", 0, "last sequence (default the newest)")
	flags.StringVar(&f.since, "since", "", "stored at this time or later: 2026-11-01 (UTC) or 2026-11-01T08:00:00+08:00")
	flags.StringVar(&f.before, "before", "", "stored before this time")
	flags.StringVar(&q.Account, "account", "", "only this account")
	flags.StringVar(&q.Program, "program", "", "only this program")
	flags.StringVar(&q.Order, "order", "", "only this order number")
	flags.StringArrayVar(&q.IDs, "event", nil, "only the event of this id, may be given several times (without a range: in all there is)")
	flags.BoolVar(&q.Failures, "failures", false, "only events that the endpoint has given up on, --since and --before being the time of that")
	flags.StringVar(&q.Source, "source", "auto", "where events come from: auto (log, then archive), log or archive")
	flags.StringVar(&q.Rate, "rate", "", "most attempts a second, 50/s or none (default 100/s, or half of the endpoint's rate_limit; commission: none)")
	flags.IntVar(&q.Concurrency, "concurrency", 0, "most deliveries at a time (default a quarter of the endpoint's)")
	flags.BoolVar(&q.DryRun, "dry-run", false, "count the events and send nothing")
	flags.BoolVar(&q.SkipMissing, "skip-missing", false, "go on where neither log nor archive has the events")
}

func newReplay(o *options) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay -c FILE --to webhook=NAME|commission[=DSN]",
		Short: "Deliver or book a range of events again",
		Long: `Reads a range of events in the order of the log, from the log what it still holds
and from the archive what has aged out of it, and hands it to one consumer. A range is
given by sequences (both included), by the log's time of storage, or both.

--to webhook=NAME delivers to an endpoint of the configuration, signed as ever, with the
same webhook-id, in order for each order, and may run beside "orderwire run", whose
deliveries keep their pace; the endpoint's own position stays. It ends at the first
event that cannot be delivered. Endpoints that were added by command get events, too.

--to commission books what the commission books lack, or fills new ones (=DSN) from
the first event on. What they have already changes nothing. "orderwire run" goes on
behind it and must not run meanwhile.

A replay that ends early says where to go on, with exit code 1.`,
		Example: `  orderwire replay -c orderwire.yaml --to webhook=partner-a --from 1200 --until 3400 --dry-run
  orderwire replay -c orderwire.yaml --to webhook=partner-a --since 2026-11-01 --before 2026-11-02T12:00:00Z --rate 50/s
  orderwire replay -c orderwire.yaml --to webhook=partner-a --event 5f0c6cf2d7a21d9ed1a02f2c1b6a5e0f
  orderwire replay -c orderwire.yaml --to webhook=partner-a --failures --since 2026-11-01
  orderwire replay -c orderwire.yaml --to commission
  orderwire replay -c orderwire.yaml --to commission=./new.db --source archive`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReplay(c.Context(), o, &f) },
	}
	f.add(c)
	c.Flags().StringVar(&f.to, "to", "", "who gets the events: webhook=NAME, commission, or commission=DSN for other books")
	return c
}

func runReplay(ctx context.Context, o *options, f *replayFlags) error {
	c, err := config.Load(f.file)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return usageError{err}
	}
	job := &replayJob{options: o, flags: f, request: &f.request, config: c, log: o.logger(), report: replay.Report{To: f.to, DryRun: f.request.DryRun}}
	err = job.run(ctx)
	var wrong *replay.RequestError
	switch {
	case err == nil:
		return job.print()
	case errors.As(err, &wrong):
		return usageError{err}
	case job.report.Next == 0:
		return err // nothing was begun
	case ctx.Err() != nil:
		err = errInterrupted
	}
	return errors.Join(fmt.Errorf("%w; go on with --from %d", err, job.report.Next), job.print())
}

var errInterrupted = errors.New("interrupted")

// check reads what the flags say as texts.
func (f *replayFlags) check() (err error) {
	for _, t := range []struct {
		name, text string
		at         *time.Time
	}{{"--since", f.since, &f.request.Since}, {"--before", f.before, &f.request.Before}} {
		if *t.at, err = parseMoment(t.text); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// parseMoment reads a time or the beginning of a day in UTC; "" is the zero time.
func parseMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time; write 2026-11-01 or 2026-11-01T08:00:00Z", text)
}
