// Package networktest gives tests of the network's service databases of their
// own: SQLite files, or with a PostgreSQL server to use, schemas of that.
package networktest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// Variable holds the address of the PostgreSQL server, postgres://..., that the
// tests use. Without it they use SQLite.
const Variable = "ORDERWIRE_TEST_POSTGRES"

// Postgres reports whether the tests use PostgreSQL.
func Postgres() bool { return os.Getenv(Variable) != "" }

// Database returns an address for [network.Config]: of an empty database that is
// gone after the test.
func Database(tb testing.TB) string {
	tb.Helper()
	if !Postgres() {
		return filepath.Join(tb.TempDir(), "network.db")
	}
	schema := "t" + strings.ToLower(rand.Text())
	administer(tb, "CREATE SCHEMA "+schema)
	tb.Cleanup(func() { administer(tb, "DROP SCHEMA "+schema+" CASCADE") })
	address, err := url.Parse(os.Getenv(Variable))
	if err != nil {
		tb.Fatalf("%s is no address", Variable)
	}
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	return address.String()
}

func administer(tb testing.TB, statement string) {
	tb.Helper()
	db := Open(tb, os.Getenv(Variable))
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		tb.Fatal(err)
	}
}

// Open opens the database of an address beside the service. The caller closes
// it.
func Open(tb testing.TB, address string) *sql.DB {
	tb.Helper()
	driver := "sqlite"
	if strings.Contains(address, "://") {
		driver = "pgx"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}
