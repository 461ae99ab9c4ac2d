package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/sinks/commission"
)

// reporter holds what the commands of report share.
type reporter struct {
	*options
	file, form string
	filter     commission.Filter
	on         string // day of ageing and overdue
}

// table is an answer as text, and as it stands in JSON.
type table struct {
	header []string
	rows   [][]string
	value  any
}

func newReport(o *options) *cobra.Command {
	c := newEarnings(o, "report", "Print the commission books: earnings, statements of months, ageing, …")
	c.AddCommand(newEarnings(o, "earnings", "Print the commission sums (as report alone does)"), newSubIDs(o), newStatement(o), newCloseMonth(o),
		newAgeing(o), newReversals(o), newOverdue(o), newSettled(o), newConversions(o))
	return c
}

// command returns a command that reads the books and prints a table.
func (r *reporter) command(use, short string, read func(context.Context, *commission.Reader, time.Time) (*table, error)) *cobra.Command {
	c := &cobra.Command{
		Use: use + " -c FILE", Short: short, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.print(c.Context(), read) },
	}
	configFlag(c, &r.file)
	outputFlag(c, &r.form, "table", "csv", "json")
	return c
}

func (r *reporter) print(ctx context.Context, read func(context.Context, *commission.Reader, time.Time) (*table, error)) (err error) {
	c, err := config.Load(r.file)
	if err != nil {
		return err
	}
	zone := c.Commission.Zone()
	books, err := commission.OpenReader(ctx, string(c.Commission.DSN), commission.InZone(zone))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	t, err := read(ctx, books, time.Now().In(zone))
	if err != nil {
		return reportError(err)
	}
	return t.print(r.out, r.form)
}

// reportError tells wrong usage from failures.
func reportError(err error) error {
	var filter *commission.FilterError
	var rate *commission.RateError
	if errors.As(err, &filter) || errors.As(err, &rate) && rate.Line > 0 {
		return usageError{err}
	}
	return err
}

// filterFlags adds the flags of the filter with these names, all without.
func (r *reporter) filterFlags(c *cobra.Command, names ...string) {
	f := &r.filter
	for _, flag := range []struct {
		to         *string
		name, help string
	}{
		{&f.Account, "account", "only this account"}, {&f.ProgramID, "program", "only this program"},
		{&f.WebsiteID, "website", "only this website"}, {&f.SubID, "sub-id", "only this sub id"},
		{&f.Currency, "currency", "only this currency"}, {&f.Status, "status", "only this status: -1, 0, 1, 2 or its name"},
		{&f.From, "from", "first day, YYYY-MM-DD"}, {&f.To, "to", "last day, YYYY-MM-DD"},
	} {
		if len(names) == 0 || strings.Contains(" "+strings.Join(names, " ")+" ", " "+flag.name+" ") {
			c.Flags().StringVar(flag.to, flag.name, "", flag.help)
		}
	}
}

// dayFlag adds the flag for the day of the report.
func (r *reporter) dayFlag(c *cobra.Command) {
	c.Flags().StringVar(&r.on, "on", "", "the day to look from, YYYY-MM-DD (default today, in commission.time_zone)")
}

func (r *reporter) day(now time.Time) string {
	if r.on != "" {
		return r.on
	}
	return now.Format(time.DateOnly)
}

// readRates reads the file of rates.
func readRates(path string) (rates *commission.Rates, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("--rates: %w", err)}
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return commission.ReadRates(file)
}

func (t *table) print(w io.Writer, form string) error {
	switch form {
	case "json":
		return printJSON(w, t.value)
	case "csv":
		out := csv.NewWriter(w)
		if err := out.WriteAll(append([][]string{t.header}, t.rows...)); err != nil {
			return err
		}
		return out.Error()
	default:
		return printTable(w, append([][]string{t.header}, t.rows...))
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

// tableOf makes a table of rows that are values as well.
func tableOf[T any](all []T, columns func(*T) []string, header ...string) *table {
	t := &table{header: header, value: all}
	for i := range all {
		t.rows = append(t.rows, columns(&all[i]))
	}
	return t
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
