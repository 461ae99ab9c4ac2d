package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/describe"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/reconcile"
	"github.com/orderwire/orderwire/schema"
)

// differencesAtOnce is how many lines of differences are set in one table: they
// may be many, and a table is held until all of it is known.
const differencesAtOnce = 1000

// differenceHeader is that of the differences, as a table of files has it.
var differenceHeader = []string{
	"against", "kinds", "explained", "account", "program", "order_sn",
	"books_day", "books_version", "books_sequence", "books_status", "books_currency", "books_order_amount", "books_commission",
	"there_day", "there_version", "there_sequence", "there_status", "there_currency", "there_order_amount", "there_commission", "note",
}

func printReconciled(w io.Writer, form string, r *reconcile.Result) error {
	switch form {
	case "json":
		return printReconciledJSON(w, r)
	case "csv":
		return printDifferencesCSV(w, r)
	}
	if err := printSides(w, r); err != nil {
		return err
	}
	return printDifferences(w, r)
}

// printReconciledJSON writes one document. The differences are its last member, and
// are not held.
func printReconciledJSON(w io.Writer, r *reconcile.Result) error {
	out := bufio.NewWriter(w)
	head, err := json.Marshal(&r.Report)
	if err != nil {
		return err
	}
	out.Write(head[:len(head)-1]) //nolint:errcheck // Flush returns the first error of all
	separator := `,"differences":[`
	for d, err := range r.Each() {
		if err != nil {
			return err
		}
		line, err := json.Marshal(d)
		if err != nil {
			return err
		}
		out.WriteString(separator + "\n  ") //nolint:errcheck // as above
		out.Write(line)                     //nolint:errcheck // as above
		separator = ","
	}
	if separator != "," {
		out.WriteString(separator) //nolint:errcheck // as above
	}
	out.WriteString("]}\n") //nolint:errcheck // as above
	return out.Flush()
}

func printDifferencesCSV(w io.Writer, r *reconcile.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write(differenceHeader); err != nil {
		return err
	}
	for d, err := range r.Each() {
		if err != nil {
			return err
		}
		row := append([]string{d.Against, strings.Join(d.Kinds, "+"), d.Explained, d.Account, d.ProgramID, d.OrderSn}, viewCells(d.Books)...)
		if err := out.Write(append(append(row, viewCells(d.There)...), d.Note)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// viewCells are the cells of one side of a difference.
func viewCells(v *reconcile.View) []string {
	if v == nil {
		return make([]string, 7)
	}
	return []string{v.Day, place(v.Version), place(v.Sequence), v.Status, v.Currency, v.OrderAmount.String(), v.Commission.String()}
}

// place is a version or a sequence, "" for none.
func place(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// printSides prints what was compared, and what it adds up to.
func printSides(w io.Writer, r *reconcile.Result) error {
	rows := [][]string{{"AGAINST", "UP TO", "ORDERS", "AGREE", "DIFFER", "EXPLAINED", "NOT COMPARABLE"}}
	totals := [][]string{{"AGAINST", "ACCOUNT", "CURRENCY", "SIDE", "ORDERS", "ORDER AMOUNT", "COMMISSION"}}
	for i := range r.Sides {
		s := &r.Sides[i]
		upTo := "now"
		if s.Against != reconcile.Network {
			upTo = "sequence " + fmt.Sprint(s.UpTo)
		}
		rows = append(rows, []string{s.Against, upTo, number(s.Compared), number(s.Agree), number(s.Different), number(s.Explained), number(s.NotComparable)})
		for _, t := range s.Totals {
			totals = append(totals, totalRows(s.Against, &t)...)
		}
	}
	if _, err := fmt.Fprintf(w, "Orders of %s, in the books as of sequence %d\n\n", spanOf(r), r.Position); err != nil {
		return err
	}
	if err := printTable(w, rows); err != nil {
		return err
	}
	if err := printRemarks(w, r); err != nil || len(totals) == 1 {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return printTable(w, totals)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func spanOf(r *reconcile.Result) string {
	text := "all days"
	switch {
	case r.From != "" && r.To != "":
		text = r.From + " to " + r.To
	case r.From != "":
		text = r.From + " on"
	case r.To != "":
		text = "all days up to " + r.To
	}
	if r.Account != "" {
		text += ", account " + r.Account
	}
	return text
}

// totalRows are the lines of one account and currency.
func totalRows(against string, t *reconcile.Total) [][]string {
	line := func(what string, f reconcile.Figures) []string {
		return []string{against, t.Account, t.Currency, what, number(f.Orders), f.OrderAmount.String(), f.Commission.String()}
	}
	rows := [][]string{line("books", t.Books), line(against, t.There)}
	less := reconcile.Figures{
		Orders:      t.There.Orders - t.Books.Orders,
		OrderAmount: schema.NewMoney(t.There.OrderAmount.Decimal().Sub(t.Books.OrderAmount.Decimal())),
		Commission:  schema.NewMoney(t.There.Commission.Decimal().Sub(t.Books.Commission.Decimal())),
	}
	if !isNothing(&less) {
		rows = append(rows, line("difference", less))
	}
	if !isNothing(&t.Explained) {
		rows = append(rows, line("of that explained", t.Explained))
	}
	return rows
}

func isNothing(f *reconcile.Figures) bool {
	return f.Orders == 0 && f.OrderAmount.Decimal().IsZero() && f.Commission.Decimal().IsZero()
}

// printRemarks prints what a reader has to know of the sides.
func printRemarks(w io.Writer, r *reconcile.Result) error {
	for i := range r.Sides {
		s := &r.Sides[i]
		remarks := s.Notes
		if s.From != "" {
			remarks = append(remarks, fmt.Sprintf("asked about orders of %s to %s", s.From, s.To))
		}
		for _, g := range s.Gaps {
			remarks = append(remarks, fmt.Sprintf("events %d to %d could not be read: they are not there any more", g.From, g.Until))
		}
		if s.Failure != "" {
			remarks = append(remarks, "not compared to the end: "+s.Failure)
		}
		for _, text := range remarks {
			if _, err := fmt.Fprintf(w, "%s: %s\n", s.Against, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// printDifferences prints a line for each.
func printDifferences(w io.Writer, r *reconcile.Result) error {
	header := []string{"AGAINST", "DIFFERS IN", "ACCOUNT", "PROGRAM", "ORDER", "BOOKS", "THERE", "NOTE"}
	var rows [][]string
	flush := func() error {
		if rows == nil {
			return nil
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		err := printTable(w, append([][]string{header}, rows...))
		rows = nil
		return err
	}
	for d, err := range r.Each() {
		if err != nil {
			return err
		}
		kinds := strings.Join(d.Kinds, ", ")
		if d.Explained != "" {
			kinds += " (" + d.Explained + ")"
		}
		rows = append(rows, []string{d.Against, kinds, d.Account, d.ProgramID, d.OrderSn, viewText(d.Books), viewText(d.There), d.Note})
		if len(rows) == differencesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// viewText is one side of a difference in short.
func viewText(v *reconcile.View) string {
	if v == nil {
		return describe.OrNone("")
	}
	text := fmt.Sprintf("%s %s of %s %s, %s", v.Commission, v.Currency, v.OrderAmount, v.Currency, statusText(v.Status))
	if v.Vanished {
		text += ", vanished"
	}
	if v.Version > 0 {
		text += fmt.Sprintf(", version %d at %d", v.Version, v.Sequence)
	}
	return text
}

func statusText(value string) string {
	if status, err := schema.ParseSettlementStatus(value); err == nil {
		return status.String()
	}
	return describe.OrNone(value)
}
