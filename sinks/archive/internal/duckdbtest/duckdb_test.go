package duckdbtest

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// lake is DuckDB in memory, in one connection, with the events of a folder as
// the view events.
type lake struct {
	db *sql.DB
}

// openLake reads the folder in the way that package archive recommends. More
// options of read_parquet may follow, as "union_by_name = true".
func openLake(tb testing.TB, dir string, options ...string) *lake {
	tb.Helper()
	l := openDuckDB(tb)
	from := append([]string{quoted(filepath.Join(dir, "**", "*.parquet")), "hive_partitioning = true"}, options...)
	l.exec(tb, "CREATE VIEW events AS SELECT * FROM read_parquet("+strings.Join(from, ", ")+")")
	return l
}

// openDuckDB neither loads nor fetches anything that is not linked in.
func openDuckDB(tb testing.TB) *lake {
	tb.Helper()
	db, err := sql.Open("duckdb", "?autoinstall_known_extensions=false&autoload_known_extensions=false")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	l := &lake{db: db}
	l.exec(tb, "SET TimeZone = 'UTC'")
	return l
}

func (l *lake) exec(tb testing.TB, statement string) {
	tb.Helper()
	if _, err := l.db.ExecContext(tb.Context(), statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// ask returns the rows of a query, each as DuckDB's own texts of its values with
// bars between them. A null is the text NULL, which no test value is.
func (l *lake) ask(tb testing.TB, query string) []string {
	tb.Helper()
	rows, err := l.db.QueryContext(tb.Context(), "SELECT coalesce(COLUMNS(*)::VARCHAR, 'NULL') FROM ("+query+")")
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	values, places := make([]string, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	var all []string
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			tb.Fatal(err)
		}
		all = append(all, strings.Join(values, "|"))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// answers fails unless a query has the wanted rows, in any order, and at least
// one.
func (l *lake) answers(tb testing.TB, query string, want []string) {
	tb.Helper()
	got, want := l.ask(tb, query), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 || slices.Equal(got, want) {
		if len(want) == 0 {
			tb.Errorf("%s: the test expects nothing", query)
		}
		return
	}
	tb.Errorf("%s:\nDuckDB has %d rows, want %d", query, len(got), len(want))
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			tb.Errorf("from row %d on:\nDuckDB %q\nwant   %q", i, got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
			return
		}
	}
}

// quoted writes a text as SQL.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
