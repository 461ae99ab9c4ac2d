package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/progress"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/reconcile"
	"github.com/orderwire/orderwire/sinks/commission"
)

// reconcileFlags are the flags of `orderwire reconcile`.
type reconcileFlags struct {
	file, form        string
	from, to, account string
	against           []string
}

func newReconcile(o *options) *cobra.Command {
	var f reconcileFlags
	sides := []string{reconcile.Log, reconcile.Archive, reconcile.Network}
	c := &cobra.Command{
		Use:   "reconcile -c FILE",
		Short: "Hold the commission books against the log, the archive and the network",
		Long: `Compares what every order counts as in the commission books (its status, order
amount, commission and currency, and its version) with the log up to where the books
stand, with the archive up to there, and with what the network answers now, and lists
every order that differs. The books are held against themselves too: the entries of
each order have to leave it where it stands, each transaction has to balance, and the
sums and balances of the reports have to be those of the orders and entries.

It works beside a running "orderwire run". An order that the network shows otherwise
is no difference when the log has that state already (not-booked) or the order has
changed since the last poll (not-polled); such orders are listed and counted apart.
Orders whose events are in neither log nor archive are counted as not comparable.

Days are those on which orders were placed, in the account's zone. Without --from,
the network is asked about the days of poll.backfill. Asking for many days takes its
time: the rate limit of the account (poll.requests_per_second) holds, beside that of
a running line. -o csv lists the differences alone, the other forms the totals too.

Exit code 0: no difference. 1: differences, or a side could not be read. 2: wrong usage.`,
		Example: `  orderwire reconcile -c orderwire.yaml
  orderwire reconcile -c orderwire.yaml --from 2026-10-01 --to 2026-10-31 --account main
  orderwire reconcile -c orderwire.yaml --against log,archive -o csv > differences.csv`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReconcile(c.Context(), o, f) },
	}
	configFlag(c, &f.file)
	outputFlag(c, &f.form, "table", "csv", "json")
	c.Flags().StringVar(&f.from, "from", "", "first day of orders, YYYY-MM-DD")
	c.Flags().StringVar(&f.to, "to", "", "last day of orders, YYYY-MM-DD")
	c.Flags().StringVar(&f.account, "account", "", "only this account")
	c.Flags().StringSliceVar(&f.against, "against", sides, "what to compare with: "+strings.Join(sides, ", "))
	return c
}

// check looks at what no configuration is needed for.
func (f *reconcileFlags) check() error {
	for _, day := range []struct{ flag, text string }{{"--from", f.from}, {"--to", f.to}} {
		if _, err := time.Parse(time.DateOnly, day.text); day.text != "" && err != nil {
			return fmt.Errorf("%s: %q is no day; write it as YYYY-MM-DD, 2026-03-01 for instance", day.flag, day.text)
		}
	}
	if f.from != "" && f.to != "" && f.to < f.from {
		return fmt.Errorf("--to: %s lies before --from %s", f.to, f.from)
	}
	for _, side := range f.against {
		if !slices.Contains([]string{reconcile.Log, reconcile.Archive, reconcile.Network}, side) {
			return fmt.Errorf("--against: cannot be %q; known are log, archive and network", side)
		}
	}
	return nil
}

func runReconcile(ctx context.Context, o *options, f reconcileFlags) (err error) {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	c, err := config.Load(f.file)
	if err != nil {
		return err
	}
	if f.account != "" && !slices.ContainsFunc(c.Accounts, func(a config.Account) bool { return a.Name == f.account }) {
		return usageError{fmt.Errorf("--account: %s has no account called %q", c.File(), f.account)}
	}
	books, err := commission.OpenReader(ctx, string(c.Commission.DSN), commission.InZone(c.Commission.Zone()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	job := reconcile.Config{
		Books: books, Account: f.account, From: f.from, To: f.to, Against: f.against, Archive: c.Archive.Sink(nil).Dir, Logger: o.logger(),
	}
	if job.Accounts, err = networkAccounts(c, o); err != nil {
		return err
	}
	if slices.Contains(f.against, reconcile.Log) || slices.Contains(f.against, reconcile.Network) {
		log, err := line.OpenReader(ctx, c, o.logger())
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }() // it was only read
		job.Log = log
	}
	return compareBooks(ctx, o, f.form, job)
}

// networkAccounts returns the accounts with their clients.
func networkAccounts(c *config.Config, o *options) ([]reconcile.Account, error) {
	var all []reconcile.Account
	for i := range c.Accounts {
		a := &c.Accounts[i]
		client, err := a.Client(o.logger())
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", a.Name, err)
		}
		poll, err := a.Poller()
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", a.Name, err)
		}
		all = append(all, reconcile.Account{Poll: poll, Network: client})
	}
	return all, nil
}

// compareBooks compares, prints, and fails when there are differences.
func compareBooks(ctx context.Context, o *options, form string, job reconcile.Config) (err error) {
	var meter *progress.Meter
	under := ""
	end := func() {
		if meter != nil {
			meter.Close()
		}
	}
	job.Progress = func(what, unit string, done, total int64) {
		if what != under {
			end()
			meter, under = progress.New(o.err, o.logger(), "reconcile "+what, unit), what
		}
		meter.Step(done, total)
	}
	result, err := reconcile.Run(ctx, job)
	end()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	if err := printReconciled(o.out, form, result); err != nil {
		return err
	}
	if result.Differences > 0 {
		return errors.Join(fmt.Errorf("the books differ: differences: %d", result.Differences), result.Failed)
	}
	return result.Failed
}
