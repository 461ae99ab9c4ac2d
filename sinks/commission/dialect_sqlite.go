package commission

import (
	"strings"

	"github.com/pressly/goose/v3"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteParameters is about how many parameters one statement gets. More of
// them gain nothing.
const sqliteParameters = 1024

var sqliteDialect = dialect{
	name:   goose.DialectSQLite3,
	rebind: func(query string) string { return query },
	source: func(columns []column, n int) string {
		row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
		return "VALUES " + row + strings.Repeat(", "+row, n-1)
	},
	args:   func(_ []column, values []any) []any { return values },
	most:   func(columns, n int) int { return largest(min(n, max(1, sqliteParameters/columns))) },
	update: upsert, given: "excluded",
	// Its transactions begin with the lock.
	lock:      selectCounters,
	addOrders: addEach,
	text:      func(s string) string { return s },
	hasTable:  "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
}

// explainSQLite maps a result code of SQLite to a hint and an error of this package,
// nil when none fits.
func explainSQLite(code int) (hint string, kind error) {
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "free space on that disk; the batch is tried again and nothing is lost", ErrFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "end the other process that writes to this file, for instance a second orderwire run or an open sqlite3 shell", ErrLocked
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "check that this user may write the file and its folder, where SQLite keeps its -wal and -shm files", ErrAccess
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "move the file away; the books are built again from the log", ErrDamaged
	case sqlite3.SQLITE_IOERR:
		return "check the disk and the system's log", nil
	default:
		return "", nil
	}
}
