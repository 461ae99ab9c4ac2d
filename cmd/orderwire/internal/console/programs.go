package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// programsPage compares the programs.
type programsPage struct {
	Account, Program                string
	Reversals, Settled, Conversions table
	Pagers                          struct{ Reversals, Settled, Conversions pager }
}

func (c *console) programs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	p := &programsPage{Account: strings.TrimSpace(q.Get("account")), Program: strings.TrimSpace(q.Get("program"))}
	f := commission.Filter{Account: p.Account, ProgramID: p.Program}
	return c.booksPage(w, r, "programs", page{Title: "Programs", At: "Ledger", Parts: parts, Part: "Programs", Body: p}, func(ctx context.Context, books Books) error {
		reversals, err := books.Reversals(ctx, f)
		if err != nil {
			return err
		}
		settled, err := books.EstimatedAndConfirmed(ctx, f)
		if err != nil {
			return err
		}
		p.Reversals = reversalTable(reversals)
		p.Settled = settledTable("settled", "Estimated against confirmed", unconfirmed, settled, func(*commission.Settled) bool { return true })
		converted := "Every order was confirmed in the currency that it was estimated in."
		if len(settled) == 0 {
			converted = unconfirmed
		}
		p.Conversions = settledTable("conversions", "Conversions", converted, settled,
			func(s *commission.Settled) bool { return s.EstimatedCurrency != s.ConfirmedCurrency })
		for name, t := range map[string]*table{"reversals": &p.Reversals, "estimated-and-confirmed": &p.Settled, "conversions": &p.Conversions} {
			if err := sentAs(w, r, name, t); err != nil {
				return err
			}
		}
		p.Pagers.Reversals, p.Pagers.Settled, p.Pagers.Conversions = p.Reversals.paged(r, "program"), p.Settled.paged(r, "row"), p.Conversions.paged(r, "row")
		return nil
	})
}

const unconfirmed = "Nothing is confirmed yet."

func reversalTable(all []commission.Reversal) table {
	t := table{
		ID: "reversals", Caption: "Reversals and time of approval",
		Head:  columns("Account", "Program", "#Orders", "#Pending", "#Reversed", "#Rate", "#Approved", "#Days for half", "#For 9 of 10", "#For 99 of 100"),
		Empty: "There are no orders. Programs are compared as soon as their orders come.",
	}
	for i := range all {
		v := &all[i]
		of := func() drill {
			d := drill{"account": {v.Account}}
			d.is("program", v.ProgramID)
			return d
		}
		pending, lost, approved := of(), of(), of()
		pending.is("status", schema.Pending.String())
		lost.is("outcome", commission.OutcomeLost)
		approved.is("status", schema.Approved.String())
		url.Values(approved).Add("with", "day")
		t.Rows = append(t.Rows, []cell{
			text(v.Account), text(v.ProgramID), linked(count(uint64(v.Orders)), of().href()), linked(count(uint64(v.Pending)), pending.href()),
			linked(count(uint64(v.Reversed)), lost.href()), percent(v.Rate), linked(count(uint64(v.Approved)), approved.href()),
			days(v.P50), days(v.P90), days(v.P99),
		})
	}
	return t
}

// percent shows a part of 1; for programs it stays one.
func percent(rate string) cell {
	d, err := decimal.NewFromString(rate)
	if err != nil {
		return number("–")
	}
	return cell{Text: d.Shift(2).StringFixed(2) + " %", Value: rate, Number: true}
}

func days(n *int64) cell {
	if n == nil {
		return number("–")
	}
	return number(strconv.FormatInt(*n, 10))
}

func settledTable(id, caption, empty string, all []commission.Settled, keep func(*commission.Settled) bool) table {
	t := table{
		ID: id, Caption: caption, Empty: empty,
		Head: columns("Account", "Program", "Estimated in", "Confirmed in", "#Orders", "#Estimated amount", "#Estimated commission", "#Confirmed amount", "#Confirmed commission", "#Rate"),
	}
	for i := range all {
		s := &all[i]
		if !keep(s) {
			continue
		}
		d := drill{"account": {s.Account}, "outcome": {commission.OutcomeSettled}}
		d.is("program", s.ProgramID)
		d.is("estimated", s.EstimatedCurrency)
		d.is("currency", s.ConfirmedCurrency)
		row := []cell{text(s.Account), text(s.ProgramID), text(s.EstimatedCurrency), text(s.ConfirmedCurrency), linked(count(uint64(s.Orders)), d.href())}
		for _, m := range []schema.Money{s.EstimatedAmount, s.EstimatedCommission, s.ConfirmedAmount, s.ConfirmedCommission} {
			row = append(row, linked(amountCell(m), d.href()))
		}
		t.Rows = append(t.Rows, append(row, number(s.Rate)))
	}
	return t
}
