package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// attemptsFlags are the flags of `orderwire webhook attempts`.
type attemptsFlags struct {
	file, form    string
	since, before string
	query         endpoints.Query
}

func newWebhookAttempts(o *options) *cobra.Command {
	var f attemptsFlags
	c := &cobra.Command{
		Use:   "attempts [NAME] -c FILE",
		Short: "List the attempts to deliver, the newest first",
		Long: `Lists what became of each attempt to deliver an event: to the endpoint NAME, or to
all. An attempt is delivered; failed, and then the event is tried again at the time
that is shown; or given_up, and then the event is in the dead letters. It works
beside a running "orderwire run" and after it has ended. Attempts are kept for 7 days
and up to 256 MiB (nats.attempts_max_age and nats.attempts_max_bytes).

--answer adds the first KiB of what a receiver answered to a delivery that it
refused. A receiver writes there what it likes, personal data too.`,
		Example: `  orderwire webhook attempts partner-a -c orderwire.yaml --outcome failed --since 2026-11-01
  orderwire webhook attempts -c orderwire.yaml --order 20261031000042 -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("%s takes one endpoint (see %s --help)", c.Name(), c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.query.Endpoint = args[0]
			}
			return webhookAttempts(c.Context(), o, &f)
		},
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "json")
	flags := c.Flags()
	flags.StringVar(&f.query.Order, "order", "", "only of this order number")
	flags.StringVar(&f.query.Account, "account", "", "only of this account")
	flags.StringVar(&f.query.Program, "program", "", "only of this program")
	flags.StringVar(&f.query.Event, "event", "", "only of the event of this id, the webhook-id")
	flags.StringVar(&f.query.Outcome, "outcome", "", "only delivered, failed or given_up")
	flags.StringVar(&f.since, "since", "", "begun at this time or later: 2026-11-01 (UTC) or 2026-11-01T08:00:00+08:00")
	flags.StringVar(&f.before, "before", "", "begun before this time")
	flags.IntVar(&f.query.Limit, "limit", 100, "the most attempts to list")
	flags.BoolVar(&f.query.Answers, "answer", false, "show the beginning of the receiver's answer")
	return c
}

func webhookAttempts(ctx context.Context, o *options, f *attemptsFlags) (err error) {
	c, err := config.Load(f.file)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return usageError{err}
	}
	log, err := line.OpenReader(ctx, c, o.logger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	found, err := endpoints.Attempts(ctx, log.Log, f.query)
	if err != nil {
		return err
	}
	if f.form == "json" {
		return printJSON(o.out, found)
	}
	return printAttempts(o.out, found, f.query.Answers)
}

// check reads what the flags say as texts.
func (f *attemptsFlags) check() (err error) {
	if f.query.Since, err = parseMoment(f.since); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	if f.query.Before, err = parseMoment(f.before); err != nil {
		return fmt.Errorf("--before: %w", err)
	}
	if f.query.Limit < 1 {
		return fmt.Errorf("--limit: %d is no number of attempts", f.query.Limit)
	}
	return f.query.Check()
}

// attemptTime is how the table shows a time; --since reads it.
const attemptTime = "2006-01-02T15:04:05.000Z07:00"

func printAttempts(w io.Writer, all []endpoints.Attempt, answers bool) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	titles := []string{"began", "endpoint", "order", "event", "attempt", "outcome", "status", "took", "next", "reason"}
	if answers {
		titles = append(titles, "answer")
	}
	fmt.Fprintln(out, strings.Join(titles, "\t"))
	for i := range all {
		cells := attemptCells(&all[i])
		if answers {
			cells = append(cells, all[i].Answer)
		}
		for i, cell := range cells {
			cells[i] = describe.OrNone(visible(cell))
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}

func attemptCells(a *endpoints.Attempt) []string {
	number, status, next := strconv.Itoa(a.Number), "", ""
	if a.Probe {
		number += " (probe)"
	}
	if a.Status != 0 {
		status = strconv.Itoa(a.Status)
	}
	if !a.Next.IsZero() {
		next = a.Next.UTC().Format(attemptTime)
	}
	took := time.Duration(a.Duration * float64(time.Millisecond)).Round(100 * time.Microsecond)
	return []string{
		a.At.UTC().Format(attemptTime), a.Endpoint, a.Account + "/" + a.Program + "/" + a.Order, a.Event, number, a.Outcome, status,
		took.String(), next, a.Reason,
	}
}

// visible escapes what a terminal would act on.
func visible(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
