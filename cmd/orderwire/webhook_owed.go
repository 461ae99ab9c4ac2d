package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
)

func newWebhookOwed(o *options) *cobra.Command {
	var file, form string
	c := &cobra.Command{
		Use:   "owed [NAME] -c FILE",
		Short: "Say what endpoints are owed",
		Long: `Counts, for one endpoint or for all, the events of the log that it wants and that its
receiver has not acknowledged: those behind its position, and those of parked orders.
Says which is the oldest, what holds the endpoint up, and what has aged out of the log
before it was taken. Dead letters are counted apart: they are not owed any more. The
log is read once, from the oldest event that can be owed. It works beside a running
"orderwire run" and after it has ended, and changes nothing.`,
		Example: `  orderwire webhook owed -c orderwire.yaml
  orderwire webhook owed partner-a -c orderwire.yaml -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArgs(c, args[1:])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return webhookOwed(c.Context(), o, file, form, args) },
	}
	configFlag(c, &file)
	outputFlag(c, &form, "table", "json")
	return c
}

func webhookOwed(ctx context.Context, o *options, file, form string, names []string) (err error) {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	log, err := line.OpenReader(ctx, c, o.logger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	meter := progress.New(o.err, o.logger(), "owed", "events")
	owed, err := endpoints.New(c, log.Log, o.logger()).Owed(ctx, strings.Join(names, ""), meter.Step)
	meter.Close()
	if errors.Is(err, endpoints.ErrUnknown) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if form == "json" {
		return printJSON(o.out, owed)
	}
	return printOwed(o.out, owed)
}

func printOwed(w io.Writer, all []endpoints.Owed) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "ENDPOINT\tSTATE\tOWED\tOLDEST\tSTORED\tAGE\tPARKED\tHELD\tDEAD\tPOSITION\tLOG")
	for i := range all {
		e := &all[i]
		sequence, stored, age := "-", "-", "-"
		if e.Oldest != nil {
			sequence = fmt.Sprint(e.Oldest.Sequence)
			stored = e.Oldest.Stored.Local().Format(time.DateTime)
			age = time.Duration(e.Oldest.Age * float64(time.Second)).Round(time.Second).String()
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n",
			e.Endpoint, e.State, e.Events, sequence, stored, age, e.ParkedOrders, e.HeldOrders, e.DeadLetters, e.Floor, e.Last)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for i := range all {
		if err := explain(w, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// explain writes what the table has no room for, a line each.
func explain(w io.Writer, e *endpoints.Owed) error {
	var lines []string
	if e.State != endpoints.StateActive && e.Reason != "" {
		since := ""
		if !e.Since.IsZero() {
			since = " since " + e.Since.Local().Format(time.DateTime)
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s", e.State, since, e.Reason))
	}
	if g := e.Gap; g != nil {
		lines = append(lines, fmt.Sprintf("events %d to %d have aged out of the log before it took them; "+
			"`orderwire run` takes from the archive those that it has", g.From, g.Until))
	}
	if e.ParkedAgedOut > 0 {
		lines = append(lines, fmt.Sprintf("%d parked orders are owed events that have aged out of the log", e.ParkedAgedOut))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(w, "%s: %s\n", e.Endpoint, line); err != nil {
			return err
		}
	}
	return nil
}
