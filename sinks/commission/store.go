package commission

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// The connections of SQLite. Every commit is on disk when it returns
// (synchronous FULL), since the runner relies on the position. A write
// transaction takes its lock at its beginning, where it can wait for it. The
// write-ahead log grows to 128 MiB before it is copied back (32768 pages of
// 4 KiB), which spares rows that change often from being written each time; a
// fourth of that cost a third of the speed. The readers map up to 1 GiB of the
// file into memory: a report reads many rows of it. What is needed for a moment,
// to undo half a statement or to sort, stays in memory.
const (
	writerParams = "_txlock=immediate&_journal_mode=WAL&_synchronous=FULL&" +
		"_pragma=cache_size(-131072)&_pragma=temp_store(2)&_pragma=wal_autocheckpoint(32768)&_pragma=journal_size_limit(134217728)&"
	readerParams = "mode=ro&_query_only=1&_pragma=mmap_size(1073741824)&_pragma=temp_store(2)&"
	commonParams = "_dqs=0&_error_rc=1"

	// busyTimeout is how long a connection waits for a lock.
	busyTimeout = 5 * time.Second

	readerConnections = 4
)

// filePath returns the path of the database that dsn names: a path itself, or
// a "file:" URL. The error is a [*StoreError] that wraps [ErrDSN].
func filePath(dsn string) (string, error) {
	scheme, _, hasScheme := strings.Cut(dsn, "://")
	switch {
	case dsn == "" || strings.Contains(dsn, ":memory:"):
		return "", dsnError("empty", "needs a file; write a path, ./data/commission.db for instance, or postgres://…")
	case strings.HasPrefix(dsn, "file:"):
		return fileURLPath(dsn)
	case hasScheme:
		return "", dsnError(scheme+"://…", "unknown kind of database; write a path, for SQLite, or postgres://user:password@host/database")
	default:
		return filepath.Clean(dsn), nil
	}
}

func fileURLPath(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host != "" && u.Host != "localhost" {
		return "", dsnError("file:…", "is no URL of a file on this machine; write file:///absolute/path or file:relative/path")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", dsnError("file:…", "takes no parameters; leave out what follows the path, Orderwire sets them itself")
	}
	path, err := url.PathUnescape(u.Opaque)
	if u.Opaque == "" {
		path = u.Path
	}
	if err != nil || path == "" {
		return "", dsnError("file:…", "has no path; write file:///absolute/path or file:relative/path")
	}
	return filepath.Clean(path), nil
}

func dsnError(where, problem string) error {
	return &StoreError{Op: "open", Where: where, Cause: fmt.Errorf("%w: %s", ErrDSN, problem)}
}

// openWriter opens the file, which is created with its folder if need be. One
// connection, because SQLite has one writer.
func openWriter(ctx context.Context, path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil { //nolint:gosec // the operator names the file
		return nil, &StoreError{Op: "open", Where: path, Hint: "create the folder, or choose another", Cause: err}
	}
	db, err := sql.Open("sqlite", sqliteURL(path, writerParams))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := reach(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// reach makes the first connection. It gives a new file its write-ahead log,
// and is told at once, without waiting for its turn, when another process does so
// at the same moment: then it tries again, for as long as a lock is waited for.
func reach(ctx context.Context, db *sql.DB) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 5*time.Millisecond, 250*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := db.PingContext(ctx)
		if _, kind := explain(err); err != nil && !errors.Is(kind, ErrLocked) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(busyTimeout))
	return err
}

// openReader opens the file, which must exist, for reading only.
func openReader(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		hint := "check the path and its rights"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "they are made by orderwire run; start that first, or check the path"
		}
		return nil, &StoreError{Op: "open", Where: path, Hint: hint, Cause: err}
	}
	db := sql.OpenDB(readingConnector(sqliteURL(path, readerParams)))
	db.SetMaxOpenConns(readerConnections)
	db.SetMaxIdleConns(readerConnections)
	return db, nil
}

func sqliteURL(path, params string) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return fmt.Sprintf("file:%s?%s_busy_timeout=%d&%s", escaped, params, busyTimeout.Milliseconds(), commonParams)
}
