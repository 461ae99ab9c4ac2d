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
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/sinks/commission"
)

// reporter holds the flags of a report.
type reporter struct {
	*options
	report     *report.Report
	query      report.Query
	file, form string
	rates      string
}

func newReport(o *options) *cobra.Command {
	c := newReportOf(o, report.Earnings, "report", "Print the commission books: earnings, statements of months, ageing, …")
	c.AddCommand(newCloseMonth(o))
	for _, r := range report.All() {
		c.AddCommand(newReportOf(o, r.Name, r.Name, reportHelp[r.Name].short))
	}
	return c
}

// newReportOf returns a command that prints a report.
func newReportOf(o *options, name, use, short string) *cobra.Command {
	r := &reporter{options: o, report: report.Find(name)}
	c := &cobra.Command{
		Use: use + " -c FILE", Short: short, Long: reportHelp[name].long, Example: reportHelp[name].example, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.print(c.Context()) },
	}
	configFlag(c, &r.file)
	outputFlag(c, &r.form, "table", "csv", "json")
	for _, p := range r.report.Takes {
		if to := r.query.Field(p); to != nil {
			c.Flags().StringVar(to, strings.ReplaceAll(p, "_", "-"), "", report.Help(p))
		}
		if p == "in" {
			c.Flags().StringVar(&r.rates, "rates", "", "file of exchange rates in place of commission.rates; --currency is then the currency to convert to, unless --in is")
		}
	}
	if r.report.Grouped() {
		c.Flags().StringSliceVar(&r.query.Group, "by", nil, report.Help("by"))
	}
	if name == report.Statement {
		c.Flags().BoolVar(&r.query.Check, "check", false, "hold a closed month to what was kept of it")
	}
	return c
}

func (r *reporter) print(ctx context.Context) (err error) {
	c, err := config.Load(r.file)
	if err != nil {
		return err
	}
	if err := r.convert(c); err != nil {
		return err
	}
	zone := c.Commission.Zone()
	books, err := commission.OpenReader(ctx, string(c.Commission.DSN), commission.InZone(zone))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	r.query.Now, r.query.Networks = time.Now().In(zone), report.NetworksOf(c, r.logger())
	t, err := r.report.Read(ctx, books, &r.query)
	if err != nil {
		return reportError(err)
	}
	return printReport(r.out, r.form, t)
}

// convert says where the rates are. Before there was --in, --currency was the
// currency to convert to when there was --rates.
func (r *reporter) convert(c *config.Config) error {
	q := &r.query
	if r.rates != "" && q.In == "" {
		if q.Currency == "" {
			return usageError{errors.New("--rates needs --currency, the currency to convert to, or --in")}
		}
		q.In, q.Currency = q.Currency, ""
	}
	name, path := "--rates", r.rates
	if path == "" {
		name, path = "commission.rates", c.Commission.Rates
	}
	read := report.RatesIn(path)
	if read == nil {
		return nil
	}
	q.Rates = func() (*commission.Rates, error) {
		rates, err := read()
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", name, err)}
		}
		return rates, nil
	}
	return nil
}

// reportError tells wrong usage from failures.
func reportError(err error) error {
	var filter *commission.FilterError
	if errors.As(err, &filter) || errors.Is(err, report.ErrNoRates) {
		return usageError{err}
	}
	return err
}

func printReport(w io.Writer, form string, t *report.Table) error {
	switch form {
	case "json":
		return printJSON(w, t.Value)
	case "csv":
		return t.WriteCSV(w)
	default:
		return printTable(w, append([][]string{t.Header}, t.Rows...))
	}
}

func printTable(w io.Writer, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for _, cell := range row {
			if _, err := fmt.Fprintf(out, "%s\t", describe.OrNone(cell)); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	return out.Flush()
}
