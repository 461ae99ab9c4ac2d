package commission

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// Statement is what a month brought to the ledger.
type Statement struct {
	Month string `json:"month"` // YYYY-MM
	// Closing is there when the month was closed by itself. A month without any
	// transaction before a closed one is closed as well, but has none.
	Closing *Closing `json:"closing,omitempty"`
	Closed  bool     `json:"closed"`
	// Lines are sorted by account, currency and ledger account.
	Lines []StatementLine `json:"lines"`
}

// StatementLine is one account of the ledger in one currency.
type StatementLine struct {
	Account       string       `json:"account"`
	LedgerAccount string       `json:"ledger_account"`
	Currency      string       `json:"currency"`
	Opening       schema.Money `json:"opening"`
	Movement      schema.Money `json:"movement"`
	Closing       schema.Money `json:"closing"`
}

const (
	selectFrozen = "SELECT account, ledger_account, currency, opening, movement FROM ledger_closings WHERE month = ?"
	selectMonth  = "SELECT closed_at, transactions, digest FROM ledger_months WHERE month = ?"
)

// Statement returns the opening, movement and closing of a month, YYYY-MM, for
// one account or, with "", all of them. The error is a [*FilterError] or a
// [*StoreError].
func (r *Reader) Statement(ctx context.Context, month, account string) (*Statement, error) {
	if _, err := parseMonth(month); err != nil {
		return nil, err
	}
	s, err := r.statement(ctx, month)
	if err != nil {
		return nil, r.fail("statement", err)
	}
	s.Lines = slices.DeleteFunc(s.Lines, func(l StatementLine) bool { return account != "" && l.Account != account })
	return s, nil
}

func (r *Reader) statement(ctx context.Context, month string) (s *Statement, err error) {
	tx, err := r.db.BeginTx(ctx, r.reading)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	s = &Statement{Month: month}
	var last string
	if err := tx.QueryRowContext(ctx, selectClosed).Scan(&last); err != nil {
		return nil, err
	}
	s.Closed = month <= last
	if s.Closing, err = r.closing(ctx, tx, month); err != nil {
		return nil, err
	}
	query, args := selectFrozen, []any{month}
	if s.Closing == nil {
		query, args = selectStatement, []any{month, month, month}
	}
	s.Lines, err = collect(ctx, tx, scanLine, r.rebind(query), args...)
	slices.SortFunc(s.Lines, func(a, b StatementLine) int {
		return slices.Compare([]string{a.Account, a.Currency, a.LedgerAccount}, []string{b.Account, b.Currency, b.LedgerAccount})
	})
	return s, err
}

// closing returns nil for a month that was not closed by itself.
func (r *Reader) closing(ctx context.Context, db querier, month string) (*Closing, error) {
	c := &Closing{Month: month}
	var at string
	err := db.QueryRowContext(ctx, r.rebind(selectMonth), month).Scan(&at, &c.Transactions, &c.Digest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.ClosedAt, err = parseStamp(at)
	return c, err
}

func scanLine(rows *sql.Rows) (StatementLine, error) {
	var l StatementLine
	var opening, movement int64
	err := rows.Scan(&l.Account, &l.LedgerAccount, &l.Currency, &opening, &movement)
	l.Opening, l.Movement, l.Closing = schema.MoneyFromCents(opening), schema.MoneyFromCents(movement), schema.MoneyFromCents(opening+movement)
	return l, err
}

// CheckMonth reads all entries of a closed month again and compares them with
// what was frozen: their digest, which covers the closed months before as well,
// and their sums. The error is a [*MonthError] when they differ or the month was
// not closed by itself, else a [*FilterError] or a [*StoreError].
func (r *Reader) CheckMonth(ctx context.Context, month string) (*Closing, error) {
	s, err := r.Statement(ctx, month, "")
	if err != nil {
		return nil, err
	}
	if s.Closing == nil {
		return nil, &MonthError{month, "was not closed", "there is nothing to check it against; close it with orderwire report close"}
	}
	const hint = "somebody has changed the database; restore it from a backup"
	read, err := readMonth(ctx, r.db, r.dialect, month)
	if err != nil {
		return nil, r.fail("check "+month, err)
	}
	if read.transactions != s.Closing.Transactions || read.digest != s.Closing.Digest {
		return nil, &MonthError{month, fmt.Sprintf("holds %d transactions of digest %.12s…, and was closed with %d of %.12s…",
			read.transactions, read.digest, s.Closing.Transactions, s.Closing.Digest), hint}
	}
	if different := s.differences(read.movements); different != nil {
		return nil, &MonthError{month, "adds up differently in " + strings.Join(different, ", "), hint}
	}
	return s.Closing, nil
}

// differences names the accounts whose movement is not what the entries give.
func (s *Statement) differences(movements map[balance]int64) []string {
	left := maps.Clone(movements)
	for i := range s.Lines {
		l := &s.Lines[i]
		left[balance{s.Month, l.Account, l.LedgerAccount, l.Currency}] -= hundredths(l.Movement)
	}
	var different []string
	for k, amount := range left {
		if amount != 0 {
			different = append(different, strings.Join([]string{k.account, k.ledgerAccount, k.currency}, "/"))
		}
	}
	slices.Sort(different)
	return different
}
