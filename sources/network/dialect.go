package network

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is all that the store has to know about one kind of database. Its
// statements are written with "?" for parameters and otherwise in the SQL that
// SQLite and PostgreSQL share.
type dialect struct {
	name       goose.Dialect
	migrations string // folder of the migration files
	// open connects the pool that writes and the pool that reads.
	open func(address string) (writer, reader *sql.DB, err error)
	// rebind writes the parameters of a statement as the database wants them.
	rebind func(query string) string
	// busy reports whether an error says that others hold the database.
	busy func(err error) bool
}

var sqliteDialect = dialect{
	name:       goose.DialectSQLite3,
	migrations: "migrations/sqlite",
	open:       openSQLite,
	rebind:     func(query string) string { return query },
	busy:       sqliteBusy,
}

func dialectOf(address string) (dialect, error) {
	scheme, _, found := strings.Cut(address, "://")
	switch {
	case address == "":
		return dialect{}, &ConfigError{"DB", "empty, give the path of the database file"}
	case found:
		return dialect{}, &ConfigError{"DB", fmt.Sprintf("no database of the kind %q is known, give the path of a file", scheme)}
	default:
		return sqliteDialect, nil
	}
}

// openSQLite opens a file in WAL mode: one connection writes, and the readers
// go on meanwhile, each on the last commit. The readers map up to 2 GiB of the
// file into memory: a page of orders stands in some hundred places of it.
func openSQLite(path string) (writer, reader *sql.DB, err error) {
	if err := createPrivate(path); err != nil {
		return nil, nil, err
	}
	if writer, err = sql.Open("sqlite", sqliteAddress(path, "_txlock=immediate")); err != nil {
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if reader, err = sql.Open("sqlite", sqliteAddress(path, "_query_only=1&_pragma=mmap_size(2147418112)")); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the database: %w", err), writer.Close())
	}
	readers := max(4, runtime.NumCPU())
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return writer, reader, nil
}

// createPrivate makes the file for its owner alone, because it holds App
// Secrets and orders; SQLite gives its companion files the same rights.
func createPrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("folder of the database: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("database file: %w", err)
	}
	return file.Close()
}

func sqliteAddress(path, extra string) string {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	file.RawQuery = "_busy_timeout=10000&_journal_mode=WAL&_synchronous=NORMAL&_foreign_keys=1&_dqs=0" +
		"&_pragma=cache_size(-16384)&_pragma=temp_store(MEMORY)&" + extra
	return file.String()
}

func sqliteBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
