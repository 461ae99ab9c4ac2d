package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
)

// replayFlags are the flags of `orderwire replay`.
type replayFlags struct {
	file, form                      string
	to, source, rate, since, before string
	dryRun                          bool
	skipMissing                     bool
	events                          replay.Range
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
same webhook-id, in order for each order, and may run beside "orderwire run"; the
endpoint's own position stays. It ends at the first event that cannot be delivered.

--to commission books what the commission books lack, or fills new ones (=DSN) from
the first event on. What they have already changes nothing. "orderwire run" goes on
behind it and must not run meanwhile.

A replay that ends early says where to go on, with exit code 1.`,
		Example: `  orderwire replay -c orderwire.yaml --to webhook=partner-a --from 1200 --until 3400 --dry-run
  orderwire replay -c orderwire.yaml --to webhook=partner-a --since 2026-11-01 --before 2026-11-02T12:00:00Z --rate 50/s
  orderwire replay -c orderwire.yaml --to commission
  orderwire replay -c orderwire.yaml --to commission=./new.db --source archive`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReplay(c.Context(), o, &f) },
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "json")
	flags := c.Flags()
	flags.StringVar(&f.to, "to", "", "who gets the events: webhook=NAME, commission, or commission=DSN for other books")
	flags.Uint64Var(&f.events.From, "from", 0, "first sequence (for commission: behind what is booked)")
	flags.Uint64Var(&f.events.Until, "until", 0, "last sequence (default the newest)")
	flags.StringVar(&f.since, "since", "", "stored at this time or later: 2026-11-01 (UTC) or 2026-11-01T08:00:00+08:00")
	flags.StringVar(&f.before, "before", "", "stored before this time")
	flags.StringVar(&f.events.Account, "account", "", "only this account")
	flags.StringVar(&f.events.Program, "program", "", "only this program")
	flags.StringVar(&f.events.Order, "order", "", "only this order number")
	flags.StringVar(&f.source, "source", "auto", "where events come from: auto (log, then archive), log or archive")
	flags.StringVar(&f.rate, "rate", "", "most events a second: 50/s (default no bound)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count the events and send nothing")
	flags.BoolVar(&f.skipMissing, "skip-missing", false, "go on where neither log nor archive has the events")
	return c
}

func runReplay(ctx context.Context, o *options, f *replayFlags) error {
	c, err := config.Load(f.file)
	if err != nil {
		return err
	}
	perSecond, err := f.check()
	if err != nil {
		return usageError{err}
	}
	job := &replayJob{options: o, flags: f, config: c, log: o.logger(), perSecond: perSecond, report: replay.Report{To: f.to, DryRun: f.dryRun}}
	err = job.run(ctx)
	switch {
	case err == nil:
		return job.print()
	case job.report.Next == 0:
		return err // nothing was begun
	case ctx.Err() != nil:
		err = errInterrupted
	}
	return errors.Join(fmt.Errorf("%w; go on with --from %d", err, job.report.Next), job.print())
}

var errInterrupted = errors.New("interrupted")

// check reads what the flags say as texts, and returns the rate.
func (f *replayFlags) check() (perSecond float64, err error) {
	if f.source != "auto" && f.source != "log" && f.source != "archive" {
		return 0, fmt.Errorf("--source: there is no source %q; known are auto, log and archive", f.source)
	}
	for _, t := range []struct {
		name, text string
		at         *time.Time
	}{{"--since", f.since, &f.events.Since}, {"--before", f.before, &f.events.Before}} {
		if *t.at, err = parseMoment(t.text); err != nil {
			return 0, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if r := &f.events; r.Until > 0 && r.Until < r.From || !r.Before.IsZero() && !r.Since.Before(r.Before) {
		return 0, errors.New("the range ends before it begins: see --from, --until, --since and --before")
	}
	if f.rate == "" {
		return 0, nil
	}
	perSecond, err = strconv.ParseFloat(strings.TrimSuffix(f.rate, "/s"), 64)
	if err != nil || !(perSecond > 0) {
		return 0, fmt.Errorf("--rate: %q is no number of events a second, such as 50/s", f.rate)
	}
	return perSecond, nil
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
