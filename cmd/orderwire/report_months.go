package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/commission"
)

func newStatement(o *options) *cobra.Command {
	r := &reporter{options: o}
	var month string
	var check bool
	c := r.command("statement", "Print what a month brought to the ledger", func(ctx context.Context, books *commission.Reader, now time.Time) (*table, error) {
		if month == "" {
			month = now.Format("2006-01")
		}
		if check {
			return checkMonth(ctx, books, month)
		}
		s, err := books.Statement(ctx, month, r.filter.Account)
		if err != nil {
			return nil, err
		}
		t := tableOf(s.Lines, statementCells, "account", "currency", "ledger_account", "opening", "movement", "closing")
		t.value = s
		return t, nil
	})
	c.Long = `Prints opening, movement and closing of each account of the ledger and currency for
a month, by default the present one. What is expected from the network is positive:
estimated, confirmed, approved; reversed is what was lost. earnings, adjustment and
conversion are the other sides. In each currency a column adds up to 0.

--check reads every entry of a closed month again and compares it with the SHA-256
and the sums that were kept when it was closed.`
	c.Example = `  orderwire report statement -c orderwire.yaml --month 2026-10
  orderwire report statement -c orderwire.yaml --month 2026-10 --check`
	r.filterFlags(c, "account")
	c.Flags().StringVar(&month, "month", "", "the month, YYYY-MM (default the present one, in commission.time_zone)")
	c.Flags().BoolVar(&check, "check", false, "hold a closed month to what was kept of it")
	return c
}

func statementCells(l *commission.StatementLine) []string {
	return []string{l.Account, l.Currency, l.LedgerAccount, l.Opening.String(), l.Movement.String(), l.Closing.String()}
}

func checkMonth(ctx context.Context, books *commission.Reader, month string) (*table, error) {
	closing, err := books.CheckMonth(ctx, month)
	if err != nil {
		return nil, err
	}
	return closingTable(closing), nil
}

func closingTable(c *commission.Closing) *table {
	return &table{
		header: []string{"month", "closed_at", "transactions", "sha256"}, value: c,
		rows: [][]string{{c.Month, c.ClosedAt.Format(time.RFC3339), number(c.Transactions), c.Digest}},
	}
}

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

func closeMonth(ctx context.Context, o *options, file, form, month string) (err error) {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	dsn, zone := string(c.Commission.DSN), commission.InZone(c.Commission.Zone())
	// Books that are not there are not made here.
	if reader, err := commission.OpenReader(ctx, dsn, zone); err != nil {
		return err
	} else if err := reader.Close(); err != nil {
		return err
	}
	books, err := commission.Open(ctx, dsn, zone)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	closing, err := books.CloseMonth(ctx, month, time.Now())
	if err != nil {
		return reportError(err)
	}
	if form == "table" {
		_, err := fmt.Fprintf(o.out, "%s is closed: %d transactions, SHA-256 %s\n", closing.Month, closing.Transactions, closing.Digest)
		return err
	}
	return closingTable(closing).print(o.out, form)
}
