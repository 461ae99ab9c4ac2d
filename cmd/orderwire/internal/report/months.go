package report

import (
	"context"
	"errors"
	"time"

	"github.com/orderwire/orderwire/sinks/commission"
)

// statement is that of a month, or with q.Check what a closed month was closed with.
func statement(ctx context.Context, books *commission.Reader, q *Query) (*Table, error) {
	if q.Check {
		closing, err := books.CheckMonth(ctx, q.month())
		if err != nil {
			return nil, err
		}
		return ClosingTable(closing), nil
	}
	s, err := books.Statement(ctx, q.month(), q.Account)
	if err != nil {
		return nil, err
	}
	t := tableOf(s.Lines, statementCells, "account", "currency", "ledger_account", "opening", "movement", "closing")
	t.Value, t.List = s, false
	return t, nil
}

func statementCells(l *commission.StatementLine) []string {
	return []string{l.Account, l.Currency, l.LedgerAccount, l.Opening.String(), l.Movement.String(), l.Closing.String()}
}

// ClosingTable shows a closed month.
func ClosingTable(c *commission.Closing) *Table {
	return &Table{
		Header: []string{"month", "closed_at", "transactions", "sha256"}, Value: c,
		Rows: [][]string{{c.Month, c.ClosedAt.Format(time.RFC3339), number(c.Transactions), c.Digest}},
	}
}

// CloseMonth closes a month, YYYY-MM, of the books at dsn, beside the process that
// keeps them. Books that are not there are not made: the error then wraps
// [fs.ErrNotExist] or [commission.ErrNotBooks]. Other errors are those of
// [commission.Books.CloseMonth].
func CloseMonth(ctx context.Context, dsn string, zone *time.Location, month string, now time.Time) (closing *commission.Closing, err error) {
	reader, err := commission.OpenReader(ctx, dsn, commission.InZone(zone))
	if err != nil {
		return nil, err
	}
	if err := reader.Close(); err != nil {
		return nil, err
	}
	books, err := commission.Open(ctx, dsn, commission.InZone(zone))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	return books.CloseMonth(ctx, month, now)
}
