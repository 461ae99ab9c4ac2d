package commission

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all that the books have to know about one kind of database. Their
// statements are written with "?" for parameters, and otherwise in the SQL that
// SQLite and PostgreSQL share.
type dialect struct {
	name    goose.Dialect
	options []goose.ProviderOption
	// rebind writes the parameters of a statement as the database wants them.
	rebind func(query string) string
	// source returns a table of n rows with these columns, as a query whose
	// parameters [dialect.args] gives.
	source func(columns []column, n int) string
	// args returns the parameters of source for rows that stand one behind another.
	args func(columns []column, values []any) []any
	// most is how many of n rows of so many columns one statement takes.
	most func(columns, n int) int
	// update returns rows for those of a table that are there for certain: key are the
	// first columns, set what some of the others become, in terms of the table and of
	// [dialect.given].
	update func(table string, columns []column, key int, set []assignment) *rows
	// given is what update calls the rows that it is given.
	given string
	// lock reads the counters and keeps other writers away until the end of the
	// transaction.
	lock string
	// reading are the options of a transaction that sees one state.
	reading *sql.TxOptions
	// addOrders adds orders to cells, one by one, as a transaction sees them that has
	// begun on the connection.
	addOrders func(ctx context.Context, conn *sql.Conn, c *cells, o chosenOrders) error
	// text makes a text of the network fit to be stored.
	text func(string) string
	// hasTable is a query for the number of tables of a name.
	hasTable string
}

// column is a column of rows that are written or looked up together.
type column struct {
	name   string
	kind   columnKind
	unused bool // its values are not given to the statement
}

type columnKind string

const (
	textColumn   columnKind = "text"
	numberColumn columnKind = "bigint"
)

func texts(names ...string) []column   { return columnsOf(textColumn, names) }
func numbers(names ...string) []column { return columnsOf(numberColumn, names) }

func columnsOf(kind columnKind, names []string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		all[i] = column{name: name, kind: kind}
	}
	return all
}

func join(parts ...[]column) []column { return slices.Concat(parts...) }

func columnNames(columns []column) string {
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		if !c.unused {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}

// rows are values for a statement that takes many at a time. The statement is
// head, the source of the rows, and tail.
type rows struct {
	table      string // "" for a lookup
	head, tail string
	columns    []column
	values     []any // int64 and string, row behind row
}

// insert returns rows for a table; tail says what happens to those that are there.
func insert(table string, columns []column, tail string) *rows {
	return &rows{table: table, head: "INSERT INTO " + table + " (" + columnNames(columns) + ") ", tail: tail, columns: columns}
}

// upsert returns rows for a table that change those that are there under the same
// key, which are the first columns. SQLite is as quick with it as with an update.
func upsert(table string, columns []column, key int, set []assignment) *rows {
	return insert(table, columns, " ON CONFLICT ("+columnNames(columns[:key])+") DO UPDATE SET "+assignments(set))
}

// assignment is what a column becomes.
type assignment struct{ column, value string }

func assignments(set []assignment) string {
	all := make([]string, len(set))
	for i, a := range set {
		all[i] = a.column + " = " + a.value
	}
	return strings.Join(all, ", ")
}

// lookup returns rows of keys, joined as k to what the query behind them reads.
func lookup(columns []column, query string) *rows {
	return &rows{head: "WITH k (" + columnNames(columns) + ") AS (", tail: ") " + query, columns: columns}
}

// reserve makes place for so many rows when there are none.
func (r *rows) reserve(n int) {
	if r.values == nil {
		r.values = make([]any, 0, n*len(r.columns))
	}
}

func (r *rows) add(values ...any) { r.values = append(r.values, values...) }
