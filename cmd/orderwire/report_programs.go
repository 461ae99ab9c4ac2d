package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/sinks/commission"
)

func newAgeing(o *options) *cobra.Command {
	r := &reporter{options: o}
	c := r.command("ageing", "Print the pending commission by days since the order", func(ctx context.Context, books *commission.Reader, now time.Time) (*table, error) {
		aged, err := books.Ageing(ctx, r.filter, r.day(now))
		return tableOf(aged, func(a *commission.Aged) []string {
			return []string{a.Account, a.ProgramID, a.Currency, a.Age, number(a.Orders), a.OrderAmount.String(), a.Commission.String()}
		}, "account", "program", "currency", "days", "orders", "order_amount", "commission"), err
	})
	r.filterFlags(c, "account", "program", "website", "sub-id", "currency", "from", "to")
	r.dayFlag(c)
	return c
}

func newOverdue(o *options) *cobra.Command {
	r := &reporter{options: o}
	c := r.command("overdue", "Print the pending orders that are late for their program", func(ctx context.Context, books *commission.Reader, now time.Time) (*table, error) {
		overdue, err := books.Overdue(ctx, r.filter, r.day(now))
		return tableOf(overdue, func(v *commission.Overdue) []string {
			return []string{v.Account, v.ProgramID, v.OrderSn, v.SubID, v.Day, number(v.Days), number(v.UsualDays), v.Currency, v.Commission.String()}
		}, "account", "program", "order_sn", "sub_id", "day", "days", "usual_days", "currency", "commission"), err
	})
	c.Long = `Prints the pending orders that are older than 90 of 100 approved orders of their
program were when they were approved. Programs with fewer than 20 approved orders are
left out, and so are orders that have vanished from the network.`
	r.filterFlags(c, "account", "program")
	r.dayFlag(c)
	return c
}

func newReversals(o *options) *cobra.Command {
	r := &reporter{options: o}
	c := r.command("reversals", "Print reversal rate and approval time by program", func(ctx context.Context, books *commission.Reader, _ time.Time) (*table, error) {
		all, err := books.Reversals(ctx, r.filter)
		return tableOf(all, reversalCells, "account", "program", "orders", "pending", "reversed", "rate", "approved", "p50_days", "p90_days", "p99_days"), err
	})
	c.Long = `Prints by program which part of the decided orders was reversed (invalid, or under a
status that the network does not document), and after how many days 50, 90 and 99 of
100 approved orders were approved: from the day of the order to the settlement that
the network names, or to the day on which the approval was seen.`
	r.filterFlags(c, "account", "program", "website", "sub-id", "from", "to")
	return c
}

func reversalCells(v *commission.Reversal) []string {
	days := func(n *int64) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	return []string{
		v.Account, v.ProgramID, number(v.Orders), number(v.Pending), number(v.Reversed), v.Rate,
		number(v.Approved), days(v.P50), days(v.P90), days(v.P99),
	}
}

func newSettled(o *options) *cobra.Command {
	r := &reporter{options: o}
	return r.settled("estimated-vs-confirmed", "Print what was estimated of settled orders, and what came", (*commission.Reader).EstimatedAndConfirmed)
}

func newConversions(o *options) *cobra.Command {
	r := &reporter{options: o}
	return r.settled("conversions", "Print the orders that were confirmed in another currency", (*commission.Reader).Conversions)
}

func (r *reporter) settled(use, short string, read func(*commission.Reader, context.Context, commission.Filter) ([]commission.Settled, error)) *cobra.Command {
	c := r.command(use, short, func(ctx context.Context, books *commission.Reader, _ time.Time) (*table, error) {
		all, err := read(books, ctx, r.filter)
		return tableOf(all, settledCells, "account", "program", "estimated_currency", "confirmed_currency", "orders",
			"estimated_amount", "estimated_commission", "confirmed_amount", "confirmed_commission", "rate"), err
	})
	r.filterFlags(c, "account", "program", "currency")
	return c
}

func settledCells(s *commission.Settled) []string {
	return []string{
		s.Account, s.ProgramID, s.EstimatedCurrency, s.ConfirmedCurrency, number(s.Orders), s.EstimatedAmount.String(),
		s.EstimatedCommission.String(), s.ConfirmedAmount.String(), s.ConfirmedCommission.String(), s.Rate,
	}
}
