package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// postgresWriters is how many connections write. They take turns at the
// counters: the next change waits in the server while one commits.
const postgresWriters = 4

func postgresDialect() dialect {
	return dialect{
		name:       goose.DialectPostgres,
		migrations: "migrations/postgres",
		options:    []goose.ProviderOption{goose.WithSessionLocker(postgresTurn{})},
		open:       openPostgres,
		rebind:     new(rebinder).rebind,
		// Not stricter: a change that has waited for the counters has to see what
		// the one before it has written.
		writing: sql.TxOptions{Isolation: sql.LevelReadCommitted},
		reading: sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		busy:    postgresBusy,
		again:   postgresAgain,
		explain: explainPostgres,
	}
}

// openPostgres connects to a server and holds it to what the service needs.
func openPostgres(ctx context.Context, address string) (writer, reader *sql.DB, err error) {
	config, err := parsePostgres(address)
	if err != nil {
		return nil, nil, err
	}
	writer, reader = stdlib.OpenDB(*config), stdlib.OpenDB(*config)
	writer.SetMaxOpenConns(postgresWriters)
	writer.SetMaxIdleConns(postgresWriters)
	readers := max(4, 2*runtime.NumCPU())
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	if err := checkPostgres(ctx, writer); err != nil {
		return nil, nil, errors.Join(err, writer.Close(), reader.Close())
	}
	return writer, reader, nil
}

// parsePostgres reads an address. Its errors quote nothing of it: a password
// with a character that is not escaped may end up in any part.
func parsePostgres(address string) (*pgx.ConnConfig, error) {
	const form = "write it like postgres://user:password@host:5432/database?sslmode=require"
	const escape = `; in user and password write "@" as %40, "/" as %2F, "#" as %23, "?" as %3F, "%" as %25`
	u, err := url.Parse(address)
	if err != nil || u.Fragment != "" || u.User == nil && strings.Contains(u.Path+u.RawQuery, "@") {
		return nil, &ConfigError{"DB", "no address of a PostgreSQL database, " + form + escape}
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, &ConfigError{"DB", "the address holds a port or a setting that PostgreSQL does not know, " + form}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "orderwire network"
	}
	return config, nil
}

func checkPostgres(ctx context.Context, db *sql.DB) error {
	var encoding string
	var schema sql.NullString
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_encoding'), current_schema()`).Scan(&encoding, &schema)
	switch {
	case err != nil:
		return fmt.Errorf("connect: %w", err)
	case encoding != "UTF8":
		return &ConfigError{"DB", "the database has the encoding " + encoding + ", create one with ENCODING 'UTF8'"}
	case !schema.Valid:
		return &ConfigError{"DB", "no schema of the search_path exists, create it or name another one with ?search_path=NAME"}
	default:
		return nil
	}
}

// postgresTurn lets one process at a time migrate a schema.
type postgresTurn struct{}

const postgresTurnKey = `hashtextextended('orderwire network ' || current_schema(), 0)`

// SessionLock waits for the turn.
func (postgresTurn) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+postgresTurnKey+`)`)
	return err
}

// SessionUnlock ends the turn.
func (postgresTurn) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock(`+postgresTurnKey+`)`)
	return err
}

// postgresAgain: the transaction was chosen to fail so that others could pass
// (serialization_failure, deadlock_detected).
func postgresAgain(err error) bool {
	code := postgresCode(err)
	return code == "40001" || code == "40P01"
}

// postgresBusy: the same, a lock or a connection was not to be had, the server
// is starting, stopping or out of resources, or it cannot be reached.
func postgresBusy(err error) bool {
	var connect *pgconn.ConnectError
	code := postgresCode(err)
	switch {
	case code == "":
		return errors.As(err, &connect)
	case code == "55P03", strings.HasPrefix(code, "53"), strings.HasPrefix(code, "57P0"), strings.HasPrefix(code, "08"):
		return true
	default:
		return postgresAgain(err)
	}
}

// postgresCode is the SQLSTATE of an error, "" when the server has not sent it.
func postgresCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// explainPostgres says what to do about an error of the opening.
func explainPostgres(err error) error {
	var connect *pgconn.ConnectError
	var hint string
	switch code := postgresCode(err); {
	case code == "28P01", code == "28000":
		hint = "the server refuses the user: check user and password in the address, and the server's pg_hba.conf"
	case code == "3D000":
		hint = "the database does not exist: create it with createdb -E UTF8, or check its name in the address"
	case code == "42501":
		hint = "the user may not make tables: GRANT CREATE ON SCHEMA to it, or give ?search_path= a schema of its own"
	case code == "53300":
		hint = "the server has no connection left: raise its max_connections or stop other clients"
	case code == "" && errors.As(err, &connect):
		hint = "the server cannot be reached: check that it runs, and host, port and sslmode in the address"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", hint, err)
}
