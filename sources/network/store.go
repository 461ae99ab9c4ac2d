package network

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// store is the database: a pool that reads and one that writes, which for
// SQLite is a single connection. Writing goes through [store.change].
type store struct {
	dialect
	writer, reader *sql.DB
	clock          func() int64 // Unix seconds
	days           calendar     // of the statistics
	pushed         bell         // rings when pushes were queued

	mu         sync.RWMutex
	statements map[string]prepared // of the reader, by their text
}

// prepared is a statement that is closed with its pool or its transaction.
type prepared struct{ *sql.Stmt }

// in returns the statement within a transaction, which it is closed with.
func (p prepared) in(ctx context.Context, tx *sql.Tx) prepared {
	return prepared{tx.StmtContext(ctx, p.Stmt)}
}

// openStore opens the database and brings its tables up to date.
func openStore(ctx context.Context, address string, clock func() int64) (*store, error) {
	d, err := dialectOf(address)
	if err != nil {
		return nil, err
	}
	s := &store{dialect: d, clock: clock, statements: map[string]prepared{}}
	if s.writer, s.reader, err = d.open(ctx, address); err != nil {
		return nil, fmt.Errorf("database: %w", d.explain(err))
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(d.explain(err), s.close())
	}
	return s, nil
}

func (s *store) migrate(ctx context.Context) error {
	p, err := s.migrator()
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

func (s *store) migrator() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, s.migrations)
	if err != nil {
		return nil, err
	}
	options := append([]goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}, s.options...)
	return goose.NewProvider(s.name, s.writer, files, options...)
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.statements {
		errs = append(errs, st.Close())
	}
	clear(s.statements)
	return errors.Join(append(errs, s.reader.Close(), s.writer.Close())...)
}

// statement returns a prepared statement of the reading pool. Their number is
// bounded, because no text holds a value. Preparing may wait for a connection,
// so it is not called by those who hold one.
func (s *store) statement(ctx context.Context, query string) (prepared, error) {
	s.mu.RLock()
	st, known := s.statements[query]
	s.mu.RUnlock()
	if known {
		return st, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, known := s.statements[query]; known {
		return st, nil
	}
	fresh, err := s.reader.PrepareContext(ctx, s.rebind(query))
	if err != nil {
		return prepared{}, fmt.Errorf("prepare a statement: %w", err)
	}
	s.statements[query] = prepared{fresh}
	return prepared{fresh}, nil
}

// row runs a query for one row and scans it. The error wraps [sql.ErrNoRows]
// when there is none.
func (s *store) row(ctx context.Context, query string, args []any, dest ...any) error {
	st, err := s.statement(ctx, query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(ctx, args...).Scan(dest...)
}

// snapshot runs fn in a transaction that sees one state of the database.
// What fn needs is prepared before, because a transaction holds a connection
// and preparing may wait for another one.
func (s *store) snapshot(ctx context.Context, fn func(tx *sql.Tx) error) (err error) {
	tx, err := s.reader.BeginTx(ctx, &s.reading)
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	defer func() { err = endTx(ctx, tx, err) }()
	return fn(tx)
}
