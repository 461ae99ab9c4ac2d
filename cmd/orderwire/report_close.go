package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
)

func newCloseMonth(o *options) *cobra.Command {
	var file, form string
	c := &cobra.Command{
		Use:   "close MONTH -c FILE",
		Short: "Close a month of the ledger for good",
		Long: `Closes a month, YYYY-MM. From then on nothing is posted to it or to one before it: a
late change goes to the first open month and names the transaction that it corrects.
What the month holds is kept with a SHA-256 over its entries. It must have ended, and
no earlier month may be open and hold anything. There is no opening it again. It
works beside a running "orderwire run".`,
		Example: `  orderwire report close 2026-10 -c orderwire.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one month to close: orderwire report close 2026-10")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return closeMonth(c.Context(), o, file, form, args[0]) },
	}
	configFlag(c, &file)
	outputFlag(c, &form, "table", "csv", "json")
	return c
}

func closeMonth(ctx context.Context, o *options, file, form, month string) error {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	closing, err := report.CloseMonth(ctx, string(c.Commission.DSN), c.Commission.Zone(), month, time.Now())
	if err != nil {
		return reportError(err)
	}
	if form == "table" {
		_, err := fmt.Fprintf(o.out, "%s is closed: %d transactions, SHA-256 %s\n", closing.Month, closing.Transactions, closing.Digest)
		return err
	}
	return printReport(o.out, form, report.ClosingTable(closing))
}
