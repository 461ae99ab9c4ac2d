package commission

import (
	"context"
	"database/sql"
	"errors"
	"math/bits"
)

// writer is the connection that writes. One goroutine at a time uses it.
type writer struct {
	*dialect
	db *sql.DB
	// prepared are the statements that batches have used, by their text. They are
	// few, since no text holds a value.
	prepared map[string]*sql.Stmt
	wanted   []string // used, but not prepared yet
	// fault is for tests: it fails before a statement or the commit. Nil: never.
	fault func() error
	// written is for benchmarks: it sees what is written. Nil: nobody does.
	written func(*rows)
}

// session is a transaction of the writer. Its statements get a context without
// an end, because SQLite's driver would start a goroutine for each of them to
// watch it; the end is looked at by ctx between them, and by the transaction.
type session struct {
	*writer
	tx   *sql.Tx
	here map[string]*sql.Stmt // statements of this transaction, closed with it
}

// in runs fn in a transaction, which is on disk when in returns without error.
func (w *writer) in(ctx context.Context, fn func(*session) error) error {
	if err := w.prepare(ctx); err != nil {
		return err
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	s := &session{writer: w, tx: tx, here: map[string]*sql.Stmt{}}
	if err := fn(s); err != nil {
		_ = tx.Rollback() // the database may have done it already; err says why
		return errors.Join(ctx.Err(), err)
	}
	if err := w.failed(); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (w *writer) failed() error {
	if w.fault == nil {
		return nil
	}
	return w.fault()
}

func (w *writer) prepare(ctx context.Context) error {
	for _, query := range w.wanted {
		st, err := w.db.PrepareContext(ctx, query) //nolint:sqlclosecheck // closed with the writer
		if err != nil {
			return err
		}
		w.prepared[query] = st
	}
	w.wanted = nil
	return nil
}

func (w *writer) close() error {
	var errs []error
	for _, st := range w.prepared {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}

func (s *session) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, found := s.here[query]; found {
		return st, nil
	}
	if known, found := s.prepared[query]; found {
		s.here[query] = s.tx.StmtContext(ctx, known)
		return s.here[query], nil
	}
	st, err := s.tx.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.here[query] = st
	s.wanted = append(s.wanted, query)
	return st, nil
}

// each runs the statement of r for its rows, as many at a time as the database
// takes.
func (s *session) each(ctx context.Context, r *rows, run func(st *sql.Stmt, args []any) error) error {
	width := len(r.columns)
	for rest := r.values; len(rest) > 0; {
		if err := errors.Join(ctx.Err(), s.failed()); err != nil {
			return err
		}
		n := s.most(width, len(rest)/width)
		st, err := s.statement(context.WithoutCancel(ctx), r.head+s.source(r.columns, n)+r.tail)
		if err != nil {
			return err
		}
		if err := run(st, s.args(r.columns, rest[:n*width])); err != nil {
			return err
		}
		rest = rest[n*width:]
	}
	return nil
}

// write runs r as a statement that returns nothing.
func (s *session) write(ctx context.Context, r *rows) error {
	if s.written != nil {
		s.written(r)
	}
	return s.each(ctx, r, func(st *sql.Stmt, args []any) error {
		_, err := st.ExecContext(context.WithoutCancel(ctx), args...)
		return err
	})
}

// read runs r as a query and scans each row.
func (s *session) read(ctx context.Context, r *rows, scan func(*sql.Rows) error) error {
	return s.each(ctx, r, func(st *sql.Stmt, args []any) error {
		found, err := st.QueryContext(context.WithoutCancel(ctx), args...)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			if err := scan(found); err != nil {
				return err
			}
		}
		return found.Err()
	})
}

func (s *session) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.tx.ExecContext(context.WithoutCancel(ctx), s.rebind(query), args...)
	return err
}

func (s *session) row(ctx context.Context, query string, args []any, to ...any) error {
	return s.tx.QueryRowContext(context.WithoutCancel(ctx), s.rebind(query), args...).Scan(to...)
}

// largest returns the largest power of two up to n, so that there are few texts
// of statements.
func largest(n int) int { return 1 << (bits.Len(uint(n)) - 1) }
