package report

import (
	"context"
	"slices"

	"github.com/orderwire/orderwire/sinks/commission"
)

// earnings are all sums, or those of what the query groups by.
func earnings(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	if q.In == "" && q.Group == nil && q.By == "" && q.LinkID == "" {
		sums, err := books.Report(ctx, q.Filter)
		return tableOf(sums, sumCells, "account", "program", "website", "sub_id", "day", "status", "currency", "orders", "order_amount", "commission"), err
	}
	return earned(ctx, books, q, q.Group)
}

func subIDs(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	return earned(ctx, books, q, []string{"sub_id", "status"})
}

func earned(ctx context.Context, books *commission.Reader, q *Query, group []string) (*Table, error) {
	rows, err := q.earned(ctx, books, group)
	header := append(slices.Clone(group), "currency", "orders", "order_amount", "commission")
	return tableOf(rows, func(e *commission.Earned) []string {
		return append(slices.Clone(e.Group), e.Currency, number(e.Orders), e.OrderAmount.String(), e.Commission.String())
	}, header...), err
}

// earned adds up by a group, in one currency when the query asks for one.
func (q *Query) earned(ctx context.Context, books *commission.Reader, group []string) ([]commission.Earned, error) {
	asked := q.Query
	asked.Group = group
	if q.In == "" {
		return books.Earnings(ctx, asked)
	}
	rates, err := q.rates()
	if err != nil {
		return nil, err
	}
	return books.EarningsIn(ctx, asked, q.In, rates)
}

func sumCells(s *commission.Sum) []string {
	return []string{
		s.Account, s.ProgramID, s.WebsiteID, s.SubID, s.Day, s.StatusName, s.Currency,
		number(s.Orders), s.OrderAmount.String(), s.Commission.String(),
	}
}
