package network

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all that the store has to know about one kind of database. Its
// statements are written with "?" for parameters and otherwise in the SQL that
// SQLite and PostgreSQL share.
type dialect struct {
	name       goose.Dialect
	migrations string // folder of the migration files
	options    []goose.ProviderOption
	// open connects the pool that writes and the pool that reads.
	open func(ctx context.Context, address string) (writer, reader *sql.DB, err error)
	// rebind writes the parameters of a statement as the database wants them.
	rebind           func(query string) string
	writing, reading sql.TxOptions
	// busy reports whether an error says that others hold the database, or that
	// it cannot be reached for now.
	busy func(err error) bool
	// again reports whether a change that was rolled back with an error may pass
	// when it is made anew at once.
	again func(err error) bool
	// explain adds to an error of the opening what to do about it.
	explain func(err error) error
}

func dialectOf(address string) (dialect, error) {
	scheme, _, found := strings.Cut(address, "://")
	switch {
	case address == "":
		return dialect{}, &ConfigError{"DB", "empty, give the path of the database file, or postgres://user:password@host/database"}
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return postgresDialect(), nil
	case found:
		return dialect{}, &ConfigError{"DB", "no database of this kind is known, give the path of a file, or postgres://user:password@host/database"}
	default:
		return sqliteDialect, nil
	}
}
