package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// change is a transaction that writes. Beside its statements it holds the
// counters: they are taken at its start, which in every database lets one
// change at a time through, so numbers ascend in the order of commits.
type change struct {
	tx         *sql.Tx
	rebind     func(string) string
	statements map[string]prepared
	now        int64 // Unix seconds, the service's clock
	counters   counters
	counts     counts
	statistics statistics
	days       calendar
	zone       string // mark of the calendar that the database has
	pending    pending
	pushing    pushing
}

// counters are the last numbers given out.
type counters struct{ owner, link, order, change int64 }

// attempts is how often a change is made until it is given up, when the database
// asks to make it again.
const attempts = 5

// change runs fn in a transaction and commits it unless fn fails. Where the
// database asks for it, all of that is done again, so fn may run several times.
func (s *store) change(ctx context.Context, fn func(c *change) error) (err error) {
	for range attempts {
		if err = s.try(ctx, fn); err == nil || !s.again(err) {
			return err
		}
	}
	return err
}

func (s *store) try(ctx context.Context, fn func(c *change) error) (err error) {
	tx, err := s.writer.BeginTx(ctx, &s.writing)
	if err != nil {
		return fmt.Errorf("begin a change: %w", err)
	}
	defer func() { err = endTx(ctx, tx, err) }()
	c := &change{tx: tx, rebind: s.rebind, statements: map[string]prepared{}, now: s.clock(), counts: counts{}, pending: newPending()}
	c.statistics, c.days = statistics{}, s.days
	if err := c.takeCounters(ctx); err != nil {
		return err
	}
	taken := c.counters
	if err := fn(c); err != nil {
		return err
	}
	if err := errors.Join(c.flush(ctx), c.saveCounts(ctx), c.saveStatistics(ctx)); err != nil {
		return err
	}
	if c.counters != taken {
		if err := c.saveCounters(ctx); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit a change: %w", err)
	}
	s.pushed.ring(c.pushing.queued)
	return nil
}

// endTx rolls back what was not committed. When ctx is done its error stands
// for all others: the transaction was torn down in the middle of something.
func endTx(ctx context.Context, tx *sql.Tx, err error) error {
	if undo := tx.Rollback(); !errors.Is(undo, sql.ErrTxDone) {
		err = errors.Join(err, undo)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("transaction: %w", ctx.Err())
	}
	return err
}

func (c *change) takeCounters(ctx context.Context) error {
	n := &c.counters
	err := c.row(ctx, `UPDATE counters SET id = id WHERE id = 1
		RETURNING last_owner, last_link, last_order, last_change, zone`, nil, &n.owner, &n.link, &n.order, &n.change, &c.zone)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	return nil
}

func (c *change) saveCounters(ctx context.Context) error {
	n := c.counters
	return c.exec(ctx, `UPDATE counters SET last_owner = ?, last_link = ?, last_order = ?, last_change = ?
		WHERE id = 1`, n.owner, n.link, n.order, n.change)
}

func (c *change) statement(ctx context.Context, query string) (prepared, error) {
	if st, known := c.statements[query]; known {
		return st, nil
	}
	st, err := c.tx.PrepareContext(ctx, c.rebind(query))
	if err != nil {
		return prepared{}, fmt.Errorf("prepare a statement: %w", err)
	}
	c.statements[query] = prepared{st}
	return prepared{st}, nil
}

func (c *change) exec(ctx context.Context, query string, args ...any) error {
	st, err := c.statement(ctx, query)
	if err != nil {
		return err
	}
	if _, err := st.ExecContext(ctx, args...); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// row is [store.row] within the change.
func (c *change) row(ctx context.Context, query string, args []any, dest ...any) error {
	st, err := c.statement(ctx, query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(ctx, args...).Scan(dest...)
}

// found runs a query for one row and reports whether there is one.
func (c *change) found(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	err := c.row(ctx, query, args, dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
