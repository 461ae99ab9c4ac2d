package commission

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationTable records which migrations a database has had. It has the
// package's name in it because the database may be shared.
const migrationTable = "commission_migrations"

// migrate brings the tables to the version of this program, or leaves a newer
// one alone and says so. Processes that start together may all call it.
func migrate(ctx context.Context, db *sql.DB, at *place) error {
	p, err := newProvider(db, at.dialect)
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return schemaError(at.where, have, want)
	}
	for {
		if _, err = p.Up(ctx); err == nil {
			return nil
		}
		// Somebody else may be at it, too: go on behind what is there by now.
		now, want, failed := p.GetVersions(ctx)
		if failed == nil && now == want {
			return nil
		}
		if failed != nil || now <= have {
			return err
		}
		have = now
	}
}

func newProvider(db *sql.DB, d *dialect) (*goose.Provider, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	if d.name == goose.DialectSQLite3 {
		dir = forSQLite{dir}
	}
	options := []goose.ProviderOption{goose.WithTableName(migrationTable), goose.WithDisableGlobalRegistry(true)}
	return goose.NewProvider(d.name, db, dir, append(options, d.options...)...)
}

// checkSchema is migrate for one who may only read.
func checkSchema(ctx context.Context, db *sql.DB, at *place) error {
	p, err := newProvider(db, at.dialect)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	want := sources[len(sources)-1].Version
	var tables int
	if err := db.QueryRowContext(ctx, at.rebind(at.hasTable), migrationTable).Scan(&tables); err != nil {
		return err
	}
	var have int64
	if tables > 0 {
		const version = "SELECT COALESCE(MAX(version_id), 0) FROM " + migrationTable + " WHERE is_applied"
		if err := db.QueryRowContext(ctx, version).Scan(&have); err != nil {
			return err
		}
	}
	if have != want {
		return schemaError(at.where, have, want)
	}
	return nil
}

func schemaError(where string, have, want int64) error {
	e := &StoreError{Op: "open", Where: where}
	switch {
	case have == 0:
		e.Cause, e.Hint = ErrNotBooks, "they are made by orderwire run; start that first, or check the path"
	case have > want:
		e.Cause = fmt.Errorf("%w: they have version %d, this program knows %d", ErrSchema, have, want)
		e.Hint = "use the newer orderwire, or give this one a database of its own, which it fills from the log"
	default:
		e.Cause = fmt.Errorf("%w: they have version %d, this program needs %d", ErrSchema, have, want)
		e.Hint = "start orderwire run of this version once, which brings them up to date"
	}
	return e
}

// forSQLite gives the migrations with what they hold for SQLite alone, and without
// what they hold for PostgreSQL alone.
type forSQLite struct{ fs.FS }

var (
	onlySQLite   = regexp.MustCompile(`/\* sqlite: (.*?) \*/`)
	onlyPostgres = regexp.MustCompile(`(?m)^.* -- postgres$`)
)

// Open opens a migration.
func (f forSQLite) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &rewritten{File: file, text: bytes.NewReader(onlyPostgres.ReplaceAll(onlySQLite.ReplaceAll(text, []byte("$1")), nil))}, nil
}

type rewritten struct {
	fs.File
	text io.Reader
}

// Read reads the migration.
func (r *rewritten) Read(p []byte) (int, error) { return r.text.Read(p) }
