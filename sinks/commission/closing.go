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
UPDATE commission_states SET closed_transaction = t.newest FROM
	(SELECT order_id, MAX(id) AS newest FROM ledger_postings WHERE id BETWEEN ? AND ? AND posted_on BETWEEN ? AND ? GROUP BY order_id) AS t
WHERE t.order_id = commission_states.id AND t.newest > commission_states.closed_transaction`
	// selectSpan finds where the transactions of a month stand.
	selectSpan          = "SELECT COALESCE(MIN(first_transaction), 0), COALESCE(MAX(last_transaction), 0) FROM ledger_balances WHERE month = ?"
	selectEarlierOpen   = "SELECT COALESCE(MIN(month), '') FROM ledger_balances WHERE month > ? AND month < ?"
	selectMonthPostings = `
SELECT p.id, p.order_id, p.version, p.sequence, k.text, p.observed_at, p.posted_on, p.previous, p.corrects, d.account, d.program_id, o.order_sn,
	a.text, p.amount_1, b.text, p.amount_2, c.text, COALESCE(e.text, ''), p.amount_3, COALESCE(f.text, ''), p.amount_4, COALESCE(g.text, '')
FROM ledger_postings p JOIN commission_states o ON o.id = p.order_id JOIN commission_dimensions d ON d.id = o.owner_id
	JOIN commission_texts k ON k.id = p.kind JOIN commission_texts a ON a.id = p.account_1 JOIN commission_texts b ON b.id = p.account_2
	JOIN commission_texts c ON c.id = p.currency LEFT JOIN commission_texts e ON e.id = p.account_3
	LEFT JOIN commission_texts f ON f.id = p.account_4 LEFT JOIN commission_texts g ON g.id = p.currency_3
WHERE p.id BETWEEN ? AND ? AND p.posted_on BETWEEN ? AND ? ORDER BY p.id`
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
	read, err := readMonth(ctx, s.tx, s.dialect, c.Month)
	if err != nil {
		return err
	}
	c.Transactions, c.Digest = read.transactions, read.digest
	if err := s.exec(ctx, insertMonth, c.Month, stamp(c.ClosedAt), c.Transactions, c.Digest); err != nil {
		return err
	}
	if err := s.exec(ctx, insertClosing, c.Month, c.Month, c.Month, c.Month); err != nil {
		return err
	}
	return s.exec(ctx, markClosed, read.where...)
}

// querier is a database or a transaction of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// monthRead is what the transactions of a month are.
type monthRead struct {
	where        []any // parameters that choose them: first and last number, first and last day
	transactions int64
	digest       string
	movements    map[balance]int64 // what their lines add up to
}

// readMonth reads the transactions of a month and chains them to the last closed
// month before.
func readMonth(ctx context.Context, db querier, d *dialect, month string) (*monthRead, error) {
	var before string
	err := db.QueryRowContext(ctx, d.rebind("SELECT COALESCE(MAX(digest), '') FROM ledger_months WHERE month = (SELECT MAX(month) FROM ledger_months WHERE month < ?)"), month).Scan(&before)
	if err != nil {
		return nil, err
	}
	var at span
	if err := db.QueryRowContext(ctx, d.rebind(selectSpan), month).Scan(&at.first, &at.last); err != nil {
		return nil, err
	}
	from, to := monthDays(month)
	m := &monthRead{where: []any{at.first, at.last, from, to}, movements: map[balance]int64{}}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", before, month)
	found, err := db.QueryContext(ctx, d.rebind(selectMonthPostings), m.where...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for ; found.Next(); m.transactions++ {
		if err := m.add(found, h, month); err != nil {
			return nil, err
		}
	}
	m.digest = hex.EncodeToString(h.Sum(nil))
	return m, found.Err()
}

// add takes one transaction: a line of text for each of its lines.
func (m *monthRead) add(found *sql.Rows, h hash.Hash, month string) error {
	var id, order, version, sequence, postedOn, previous, corrects int64
	var kind, observed, account, program, sn string
	var lines [4]posted
	err := found.Scan(&id, &order, &version, &sequence, &kind, &observed, &postedOn, &previous, &corrects, &account, &program, &sn,
		&lines[0].account, &lines[0].amount, &lines[1].account, &lines[1].amount, &lines[0].currency,
		&lines[2].account, &lines[2].amount, &lines[3].account, &lines[3].amount, &lines[2].currency)
	lines[1].currency, lines[3].currency = lines[0].currency, lines[2].currency
	for i, l := range lines {
		if l.account == "" {
			break
		}
		// Texts of the network are quoted, so that no two lines read alike.
		fmt.Fprintf(h, "%d %d %d %d %s %s %s %d %d %q %q %q %d %s %q %d\n", id, order, version, sequence, kind, observed, dayText(postedOn), previous, corrects,
			account, program, sn, i+1, l.account, l.currency, l.amount)
		m.movements[balance{month, account, l.account, l.currency}] += l.amount
	}
	return err
}
