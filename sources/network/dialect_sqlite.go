package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteDialect = dialect{
	name:       goose.DialectSQLite3,
	migrations: "migrations/sqlite",
	open:       openSQLite,
	rebind:     func(query string) string { return query },
	reading:    sql.TxOptions{ReadOnly: true},
	busy:       sqliteBusy,
	again:      func(error) bool { return false }, // it has waited for its turn
	explain:    func(err error) error { return err },
}

// openSQLite opens a file in WAL mode: one connection writes, and the readers
// go on meanwhile, each on the last commit. The readers map up to 2 GiB of the
// file into memory: a page of orders stands in some hundred places of it.
func openSQLite(_ context.Context, path string) (writer, reader *sql.DB, err error) {
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
