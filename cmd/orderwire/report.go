package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/sinks/commission"
)

func newReport(o *options) *cobra.Command {
	var file, form string
	var filter commission.Filter
	c := &cobra.Command{
		Use:   "report -c FILE",
		Short: "Print the commission sums",
		Long: `Prints orders, order amount and commission by account, program, website, sub id,
currency, status and day of order. Every order counts once, under its present
status: a pending one with its estimate in the order's currency, a confirmed or
approved one with its confirmed commission in the charge currency, an invalid one
with no commission. It works beside a running "orderwire run" and after it.`,
		Example: `  orderwire report -c orderwire.yaml
  orderwire report -c orderwire.yaml -o json --status 2 --from 2026-11-01`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return report(c.Context(), o, file, form, filter) },
	}
	configFlag(c, &file)
	outputFlag(c, &form, "table", "csv", "json")
	for _, f := range []struct {
		to         *string
		name, help string
	}{
		{&filter.Account, "account", "only this account"}, {&filter.ProgramID, "program", "only this program"},
		{&filter.WebsiteID, "website", "only this website"}, {&filter.SubID, "sub-id", "only this sub id"},
		{&filter.Currency, "currency", "only this currency"}, {&filter.Status, "status", "only this status: -1, 0, 1, 2 or its name"},
		{&filter.From, "from", "first day of order, YYYY-MM-DD"}, {&filter.To, "to", "last day of order, YYYY-MM-DD"},
	} {
		c.Flags().StringVar(f.to, f.name, "", f.help)
	}
	return c
}

func report(ctx context.Context, o *options, file, form string, filter commission.Filter) (err error) {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	books, err := commission.OpenReader(ctx, string(c.Commission.DSN))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	sums, err := books.Report(ctx, filter)
	var wrong *commission.FilterError
	if errors.As(err, &wrong) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	return printSums(o.out, form, sums)
}

func printSums(w io.Writer, form string, sums []commission.Sum) error {
	switch form {
	case "json":
		if sums == nil {
			sums = []commission.Sum{}
		}
		return printJSON(w, sums)
	case "csv":
		return printCSV(w, sums)
	default:
		return printTable(w, sums)
	}
}

func columns(s *commission.Sum) []string {
	return []string{
		s.Account, s.ProgramID, s.WebsiteID, s.SubID, s.Day, s.StatusName, s.Currency,
		strconv.FormatInt(s.Orders, 10), s.OrderAmount.String(), s.Commission.String(),
	}
}

var header = []string{"account", "program", "website", "sub_id", "day", "status", "currency", "orders", "order_amount", "commission"}

func printCSV(w io.Writer, sums []commission.Sum) error {
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range sums {
		if err := out.Write(columns(&sums[i])); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func printTable(w io.Writer, sums []commission.Sum) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i := -1; i < len(sums); i++ {
		row := header
		if i >= 0 {
			row = columns(&sums[i])
		}
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
