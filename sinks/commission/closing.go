package commission

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"
)

// Closing is a closed month.
type Closing struct {
	Month        string    `json:"month"`        // YYYY-MM
	ClosedAt     time.Time `json:"closed_at"`    // UTC
	Transactions int64     `json:"transactions"` // posted to it
	// Digest is a SHA-256, in hexadecimal, over the digest of the last closed
	// month before and every transaction and entry of this one.
	Digest string `json:"digest"`
}

// MonthError says why a month cannot be closed, or is not what it was.
type MonthError struct {
	Month   string // YYYY-MM
	Problem string // what is wrong
	Hint    string // what to do
}

// Error names the month.
func (e *MonthError) Error() string {
	return fmt.Sprintf("commission books: month %s %s; %s", e.Month, e.Problem, e.Hint)
}

const (
	insertMonth   = "INSERT INTO ledger_months (month, closed_at, transactions, digest) VALUES (?, ?, ?, ?)"
	insertClosing = `
INSERT INTO ledger_closings (month, account, ledger_account, currency, opening, movement, closing)
SELECT CAST(? AS TEXT), account, ledger_account, currency, opening, movement, opening + movement FROM (` + selectStatement + `) AS s`
	// selectStatement takes the month three times.
	selectStatement = `
SELECT account, ledger_account, currency,
	CAST(SUM(CASE WHEN month < ? THEN amount ELSE 0 END) AS BIGINT) AS opening, CAST(SUM(CASE WHEN month = ? THEN amount ELSE 0 END) AS BIGINT) AS movement
FROM ledger_balances WHERE month <= ? GROUP BY account, ledger_account, currency`
	// markClosed notes of each order its newest transaction in the month.
	markClosed = `
UPDATE commission_orders SET closed_transaction = t.newest FROM
	(SELECT order_id, MAX(id) AS newest FROM ledger_transactions WHERE month = ? GROUP BY order_id) AS t
WHERE t.order_id = commission_orders.id AND t.newest > commission_orders.closed_transaction`
	selectEarlierOpen = "SELECT COALESCE(MIN(month), '') FROM ledger_balances WHERE month > ? AND month < ?"
	selectMonthLines  = `
SELECT t.id, t.order_id, t.version, t.sequence, t.kind, t.observed_at, t.posted_on, t.previous, t.corrects, o.account, o.program_id, o.order_sn,
	e.line, e.ledger_account, e.currency, e.amount
FROM ledger_transactions t JOIN commission_orders o ON o.id = t.order_id JOIN ledger_entries e ON e.transaction_id = t.id
WHERE t.month = ? ORDER BY t.id, e.line`
)

// CloseMonth closes a month, YYYY-MM: from then on nothing is posted to it or
// to one before it, and what it holds is frozen. It must have ended in the zone
// of the books, and no month before it may be open and hold anything. There is
// no opening it again. The error is a [*FilterError], a [*MonthError] or a
// [*StoreError].
func (b *Books) CloseMonth(ctx context.Context, month string, now time.Time) (*Closing, error) {
	start, err := parseMonth(month)
	if err != nil {
		return nil, err
	}
	end := time.Date(start.Year(), start.Month()+1, 1, 0, 0, 0, 0, b.zone)
	if now.Before(end) {
		return nil, &MonthError{month, "has not ended", "close it after " + end.Format(time.RFC3339)}
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	c := &Closing{Month: month, ClosedAt: now.UTC().Truncate(time.Microsecond)}
	err = b.writer.in(ctx, func(s *session) error { return c.close(ctx, s) })
	if wrong, ok := errors.AsType[*MonthError](err); ok {
		return nil, wrong
	}
	if err != nil {
		return nil, b.fail("close "+month, err)
	}
	return c, nil
}

func (c *Closing) close(ctx context.Context, s *session) error {
	var n counters
	if err := n.lock(ctx, s); err != nil {
		return err
	}
	var last, earlier string
	if err := s.row(ctx, selectClosed, nil, &last); err != nil {
		return err
	}
	if c.Month <= last {
		return &MonthError{c.Month, "is closed", "every month up to " + last + " is"}
	}
	if err := s.row(ctx, selectEarlierOpen, []any{last, c.Month}, &earlier); err != nil {
		return err
	}
	if earlier != "" {
		return &MonthError{c.Month, "cannot be closed before " + earlier, "close that first"}
	}
	var err error
	if c.Transactions, c.Digest, err = digest(ctx, s.tx, s.dialect, c.Month); err != nil {
		return err
	}
	if err := s.exec(ctx, insertMonth, c.Month, stamp(c.ClosedAt), c.Transactions, c.Digest); err != nil {
		return err
	}
	if err := s.exec(ctx, insertClosing, c.Month, c.Month, c.Month, c.Month); err != nil {
		return err
	}
	return s.exec(ctx, markClosed, c.Month)
}

// querier is a database or a transaction of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// digest reads the transactions of a month and chains them to the last closed
// month before.
func digest(ctx context.Context, db querier, d *dialect, month string) (transactions int64, sum string, err error) {
	var before string
	err = db.QueryRowContext(ctx, d.rebind("SELECT COALESCE(MAX(digest), '') FROM ledger_months WHERE month = (SELECT MAX(month) FROM ledger_months WHERE month < ?)"), month).Scan(&before)
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", before, month)
	lines, err := db.QueryContext(ctx, d.rebind(selectMonthLines), month)
	if err != nil {
		return 0, "", err
	}
	defer lines.Close()
	var last int64
	for lines.Next() {
		id, err := hashLine(lines, h)
		if err != nil {
			return 0, "", err
		}
		if id != last {
			transactions, last = transactions+1, id
		}
	}
	return transactions, hex.EncodeToString(h.Sum(nil)), lines.Err()
}

func hashLine(lines *sql.Rows, h hash.Hash) (id int64, err error) {
	var order, version, sequence, previous, corrects, line, amount int64
	var kind, observed, postedOn, account, program, sn, ledgerAccount, currency string
	err = lines.Scan(&id, &order, &version, &sequence, &kind, &observed, &postedOn, &previous, &corrects, &account, &program, &sn,
		&line, &ledgerAccount, &currency, &amount)
	// Texts of the network are quoted, so that no two lines read alike.
	fmt.Fprintf(h, "%d %d %d %d %s %s %s %d %d %q %q %q %d %s %q %d\n", id, order, version, sequence, kind, observed, postedOn, previous, corrects,
		account, program, sn, line, ledgerAccount, currency, amount)
	return id, err
}
