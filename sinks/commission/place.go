package commission

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// place is a database: a file of SQLite, or a schema of a PostgreSQL server.
type place struct {
	*dialect
	where  string          // for errors: the path, or the address without user and password
	path   string          // of the file
	server *pgx.ConnConfig // nil for a file
}

// placeOf reads an address. The error is a [*StoreError] that wraps [ErrDSN].
func placeOf(dsn string) (*place, error) {
	if scheme, _, ok := strings.Cut(dsn, "://"); ok && (scheme == "postgres" || scheme == "postgresql") {
		c, err := parsePostgres(dsn)
		if err != nil {
			return nil, err
		}
		return &place{dialect: &postgresDialect, where: postgresName(c), server: c}, nil
	}
	path, err := filePath(dsn)
	if err != nil {
		return nil, err
	}
	return &place{dialect: &sqliteDialect, where: path, path: path}, nil
}

func (p *place) openWriter(ctx context.Context) (*sql.DB, error) {
	if p.server != nil {
		return openPostgres(ctx, p.server, 2, postgresPlans) // the second one only migrates
	}
	return openWriter(ctx, p.path)
}

func (p *place) openReader(ctx context.Context) (*sql.DB, error) {
	if p.server != nil {
		return openPostgres(ctx, p.server, readerConnections, postgresReading)
	}
	return openReader(p.path)
}

// CheckDSN says what is wrong with an address, nil when it can be used; it
// opens nothing. The error is a [*StoreError] that wraps [ErrDSN] and quotes
// nothing of the address.
func CheckDSN(dsn string) error {
	_, err := placeOf(dsn)
	return err
}

// SameBooks reports whether two addresses, as [Open] takes them, name the same
// database. Of an address that cannot be used it says yes; opening it says why.
func SameBooks(a, b string) bool {
	one, errOne := placeOf(a)
	other, errOther := placeOf(b)
	switch {
	case errOne != nil || errOther != nil:
		return true
	case one.server != nil && other.server != nil:
		return one.where == other.where && one.server.RuntimeParams["search_path"] == other.server.RuntimeParams["search_path"]
	case one.server != nil || other.server != nil:
		return false
	default:
		return sameFile(one.path, other.path)
	}
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA != nil || errB != nil || a == b
}
