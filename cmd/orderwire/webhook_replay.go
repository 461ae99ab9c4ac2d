package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newWebhookReplay(o *options) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay NAME",
		Short: "Deliver a range of events again",
		Long: `Delivers events of the log, or of the archive what has aged out of the log, to an
endpoint again, as "orderwire replay --to webhook=NAME" does: signed as ever, with the
same webhook-id and the same body, in order for each order, beside "orderwire run".
The endpoint may have been added later than the events.

Which events: a range of sequences or of times, one order, single events by their ids,
or with --failures what the endpoint has given up on. --dry-run counts them first.

So that new events keep their pace, there are 100 attempts a second at most (--rate),
or half of the endpoint's rate_limit, and a quarter of its concurrency; a receiver that
answers 429 or 503 gets fewer. A rate above the endpoint's rate_limit is cut to that.`,
		Example: `  orderwire webhook replay partner-a --failures --dry-run
  orderwire webhook replay partner-a --since 2026-11-01 --before 2026-11-02T12:00:00Z --rate 50/s
  orderwire webhook replay partner-a --event 5f0c6cf2d7a21d9ed1a02f2c1b6a5e0f`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("say which endpoint: %s NAME", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.to = "webhook=" + args[0]
			return runReplay(c.Context(), o, &f)
		},
	}
	f.add(c)
	return c
}
