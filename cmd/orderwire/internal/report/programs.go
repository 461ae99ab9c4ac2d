package report

import (
	"context"

	"github.com/orderwire/orderwire/sinks/commission"
)

func ageing(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	aged, err := books.Ageing(ctx, q.Filter, q.today())
	return tableOf(aged, func(a *commission.Aged) []string {
		return []string{a.Account, a.ProgramID, a.Currency, a.Age, number(a.Orders), a.OrderAmount.String(), a.Commission.String()}
	}, "account", "program", "currency", "days", "orders", "order_amount", "commission"), err
}

func overdue(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	late, err := books.Overdue(ctx, q.Filter, q.today())
	return tableOf(late, func(v *commission.Overdue) []string {
		return []string{v.Account, v.ProgramID, v.OrderSn, v.SubID, v.Day, number(v.Days), number(v.UsualDays), v.Currency, v.Commission.String()}
	}, "account", "program", "order_sn", "sub_id", "day", "days", "usual_days", "currency", "commission"), err
}

func reversals(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	rows, err := books.Reversals(ctx, q.Filter)
	return tableOf(rows, reversalCells, "account", "program", "orders", "pending", "reversed", "rate", "approved", "p50_days", "p90_days", "p99_days"), err
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

func estimatedAndConfirmed(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	rows, err := books.EstimatedAndConfirmed(ctx, q.Filter)
	return settledTable(rows), err
}

func conversions(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	rows, err := books.Conversions(ctx, q.Filter)
	return settledTable(rows), err
}

func settledTable(rows []commission.Settled) *Table {
	return tableOf(rows, func(s *commission.Settled) []string {
		return []string{
			s.Account, s.ProgramID, s.EstimatedCurrency, s.ConfirmedCurrency, number(s.Orders), s.EstimatedAmount.String(),
			s.EstimatedCommission.String(), s.ConfirmedAmount.String(), s.ConfirmedCommission.String(), s.Rate,
		}
	}, "account", "program", "estimated_currency", "confirmed_currency", "orders",
		"estimated_amount", "estimated_commission", "confirmed_amount", "confirmed_commission", "rate")
}
