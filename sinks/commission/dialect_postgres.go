package commission

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

var postgresDialect = dialect{
	name:    goose.DialectPostgres,
	options: []goose.ProviderOption{goose.WithSessionLocker(postgresTurn{})},
	rebind:  numbered,
	source: func(columns []column, _ int) string {
		arrays := make([]string, 0, len(columns))
		for _, c := range columns {
			if !c.unused {
				arrays = append(arrays, "$"+strconv.Itoa(len(arrays)+1)+"::"+string(c.kind)+"[]")
			}
		}
		return "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")"
	},
	args: postgresArrays,
	most: func(_, n int) int { return n },
	// An upsert would lock each row, and log that, before it changes it.
	update: postgresUpdate, given: "given",
	lock: selectCounters + " FOR UPDATE",
	// Its texts hold no zero byte.
	text:      func(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") },
	hasTable:  "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?",
	reading:   &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	addOrders: addRows,
}

// postgresArrays returns an array for each column.
func postgresArrays(columns []column, values []any) []any {
	width := len(columns)
	n := len(values) / width
	arrays := make([]any, 0, width)
	for i, c := range columns {
		switch {
		case c.unused:
		case c.kind == numberColumn:
			arrays = append(arrays, gather[int64](values, i, width, n))
		default:
			arrays = append(arrays, gather[string](values, i, width, n))
		}
	}
	return arrays
}

func gather[T any](values []any, first, width, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = values[first+i*width].(T)
	}
	return all
}

func postgresUpdate(table string, columns []column, key int, set []assignment) *rows {
	columns = slices.Clone(columns)
	for i := range columns[key:] {
		c := &columns[key+i]
		c.unused = !slices.ContainsFunc(set, func(a assignment) bool { return a.column == c.name })
	}
	same := make([]string, key)
	for i, c := range columns[:key] {
		same[i] = table + "." + c.name + " = given." + c.name
	}
	return &rows{
		table: table, head: "UPDATE " + table + " SET " + assignments(set) + " FROM (", columns: columns,
		tail: ") AS given (" + columnNames(columns) + ") WHERE " + strings.Join(same, " AND "),
	}
}

// numbered writes $1, $2, … for each "?". No statement holds one otherwise.
func numbered(query string) string {
	parts := strings.Split(query, "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// parsePostgres reads an address. Its errors quote nothing of it: a password
// with a character that is not escaped may end up in any part.
func parsePostgres(address string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, dsnError("postgres://…", `is no address of a PostgreSQL database; write postgres://user:password@host:5432/database, `+
			`and in user and password "@" as %40, "/" as %2F, "#" as %23, "?" as %3F, "%" as %25`)
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "orderwire commission"
	}
	// The runner relies on the position being on disk.
	if c.RuntimeParams["synchronous_commit"] == "" {
		c.RuntimeParams["synchronous_commit"] = "on"
	}
	return c, nil
}

// postgresName is what errors call a database: no user and no password.
func postgresName(c *pgx.ConnConfig) string {
	host := c.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	}
	return "postgres://" + host + "/" + c.Database
}

// postgresPlans are settings of the connection that writes: the keys of a batch
// are few beside the orders, and always looked up by their index, also while the
// server knows nothing yet about fresh tables.
var postgresPlans = map[string]string{
	"enable_hashjoin": "off", "enable_mergejoin": "off", "enable_seqscan": "off", "plan_cache_mode": "force_generic_plan", "jit": "off",
}

// postgresReading are settings of the connections that read: compiling a query takes
// longer than the longest of ours runs.
var postgresReading = map[string]string{"jit": "off"}

// addRows reads orders by the driver itself, which takes half as long as to let the
// server group them.
func addRows(ctx context.Context, conn *sql.Conn, c *cells, o chosenOrders) error {
	return conn.Raw(func(driver any) error {
		rows, err := driver.(*stdlib.Conn).Conn().Query(ctx, "SELECT "+o.columns+" FROM "+o.from, o.args...)
		if err != nil {
			return err
		}
		var dimension, day, currency, status int64
		v := sum{orders: 1}
		_, err = pgx.ForEachRow(rows, []any{&dimension, &day, &currency, &status, &v.amount, &v.commission}, func() error {
			return c.add(dimension, day, currency, status, v)
		})
		return err
	})
}

// openPostgres connects, with so many connections at most, and these settings.
func openPostgres(ctx context.Context, c *pgx.ConnConfig, connections int, settings map[string]string) (*sql.DB, error) {
	c = c.Copy()
	maps.Copy(c.RuntimeParams, settings)
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	var encoding string
	var schema sql.NullString
	err := db.QueryRowContext(ctx, "SELECT current_setting('server_encoding'), current_schema()").Scan(&encoding, &schema)
	switch {
	case err == nil && encoding != "UTF8":
		err = fmt.Errorf("%w: the database has the encoding %s, create one with ENCODING 'UTF8'", ErrDSN, encoding)
	case err == nil && !schema.Valid:
		err = fmt.Errorf("%w: no schema of the search_path exists, create it or name another one with ?search_path=NAME", ErrDSN)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// postgresTurn lets one process at a time migrate a schema.
type postgresTurn struct{}

const postgresTurnKey = "hashtextextended('orderwire commission ' || current_schema(), 0)"

// SessionLock waits for the turn.
func (postgresTurn) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock("+postgresTurnKey+")")
	return err
}

// SessionUnlock ends the turn.
func (postgresTurn) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock("+postgresTurnKey+")")
	return err
}

// explainPostgres maps a SQLSTATE to a hint and an error of this package, nil
// when none fits.
func explainPostgres(code string) (hint string, kind error) {
	switch {
	case code == "53100":
		return "free space on the server's disk; the batch is tried again and nothing is lost", ErrFull
	case code == "55P03", code == "40001", code == "40P01":
		return "another process works on the books; it is tried again", ErrLocked
	case code == "28P01", code == "28000":
		return "the server refuses the user: check user and password in the address, and the server's pg_hba.conf", ErrAccess
	case code == "3D000":
		return "the database does not exist: create it with createdb -E UTF8, or check its name in the address", ErrAccess
	case code == "42501":
		return "the user may not make or write the tables: GRANT CREATE ON SCHEMA to it, or give ?search_path= a schema of its own", ErrAccess
	case code == "53300":
		return "the server has no connection left: raise its max_connections or stop other clients", ErrAccess
	case strings.HasPrefix(code, "57P0"), strings.HasPrefix(code, "08"):
		return "the server is stopping, starting or has closed the connection; it is tried again", ErrAccess
	default:
		return "", nil
	}
}

// postgresError reads an error of the driver.
func postgresError(err error) (hint string, kind error) {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return explainPostgres(e.Code)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "the server cannot be reached: check that it runs, and host, port and sslmode in the address", ErrAccess
	}
	return "", nil
}
