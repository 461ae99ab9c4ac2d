package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/sinks/commission"
)

// earnings holds the flags that only the sums take.
type earnings struct {
	reporter
	query commission.Query
	rates string
}

func newEarnings(o *options, use, short string) *cobra.Command {
	e := &earnings{reporter: reporter{options: o}}
	c := e.command(use, short, e.read)
	c.Long = `Prints orders, order amount and commission by account, program, website, sub id,
currency, status and day of order. Every order counts once, under its present
status: a pending one with its estimate in the order's currency, a confirmed or
approved one with its confirmed commission in the charge currency, an invalid one
with no commission. It works beside a running "orderwire run" and after it.

--by adds up by what it names. --day posting shows what each day changed: an order
that goes from one status to another is taken out of the one and put into the other.

--rates FILE with --currency EUR converts all of it to EUR. The file has lines of
date,from,to,rate; a day takes its own rate or the newest of the 7 days before, and
a rate that is missing is an error.`
	c.Example = `  orderwire report -c orderwire.yaml
  orderwire report -c orderwire.yaml -o json --status 2 --from 2026-11-01
  orderwire report -c orderwire.yaml --by month,program --currency EUR --rates rates.csv`
	e.flags(c)
	c.Flags().StringSliceVar(&e.query.Group, "by", nil, "add up by day, month, account, program, website, sub_id, link, status")
	return c
}

func newSubIDs(o *options) *cobra.Command {
	e := &earnings{reporter: reporter{options: o}, query: commission.Query{Group: []string{"sub_id", "status"}}}
	c := e.command("sub-ids", "Print earnings by sub id and status", e.read)
	e.flags(c)
	return c
}

func (e *earnings) flags(c *cobra.Command) {
	e.filterFlags(c)
	c.Flags().StringVar(&e.query.LinkID, "link", "", "only this link")
	c.Flags().StringVar(&e.query.By, "day", "", "what days mean: order, settlement or posting (default order)")
	c.Flags().StringVar(&e.rates, "rates", "", "file of exchange rates; --currency is then the currency of the report")
}

func (e *earnings) read(ctx context.Context, books *commission.Reader, _ time.Time) (*table, error) {
	if e.rates == "" && e.query.Group == nil && e.query.By == "" && e.query.LinkID == "" {
		sums, err := books.Report(ctx, e.filter)
		return tableOf(sums, sumCells, "account", "program", "website", "sub_id", "day", "status", "currency", "orders", "order_amount", "commission"), err
	}
	earned, err := e.earned(ctx, books)
	header := append(append([]string{}, e.query.Group...), "currency", "orders", "order_amount", "commission")
	return tableOf(earned, func(e *commission.Earned) []string {
		return append(append([]string{}, e.Group...), e.Currency, number(e.Orders), e.OrderAmount.String(), e.Commission.String())
	}, header...), err
}

func (e *earnings) earned(ctx context.Context, books *commission.Reader) ([]commission.Earned, error) {
	q := e.query
	q.Filter = e.filter
	if e.rates == "" {
		return books.Earnings(ctx, q)
	}
	if q.Currency == "" {
		return nil, usageError{errors.New("--rates needs --currency, the currency to convert to")}
	}
	rates, err := readRates(e.rates)
	if err != nil {
		return nil, err
	}
	to := q.Currency
	q.Currency = ""
	return books.EarningsIn(ctx, q, to, rates)
}

func sumCells(s *commission.Sum) []string {
	return []string{
		s.Account, s.ProgramID, s.WebsiteID, s.SubID, s.Day, s.StatusName, s.Currency,
		number(s.Orders), s.OrderAmount.String(), s.Commission.String(),
	}
}
