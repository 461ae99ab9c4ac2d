package commission

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"modernc.org/sqlite"
)

// addFunction is an aggregate function that connections of [sqliteReading] know: it
// adds each order to cells and returns how many. Reading them row by row takes two and
// a half times as long, and letting SQLite group them five times, since it sorts them.
const addFunction = "orderwire_add"

// sqliteReading opens the connections that read. It is a driver of its own, so that no
// others know the function.
var sqliteReading = func() *sqlite.Driver {
	d := &sqlite.Driver{}
	d.MustRegisterFunction(addFunction, &sqlite.FunctionImpl{
		NArgs:         7,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return &adder{}, nil },
	})
	return d
}()

// readingConnector opens connections to the database of its URL.
type readingConnector string

// Connect opens one.
func (c readingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return sqliteReading.Open(string(c))
}

// Driver returns the driver.
func (readingConnector) Driver() driver.Driver { return sqliteReading }

// lent are the cells that queries add to, by the number that stands for them in the
// query.
var lent = struct {
	sync.Mutex
	last  int64
	cells map[int64]*cells
}{cells: map[int64]*cells{}}

var errNotLent = errors.New(addFunction + " is used by no query of the reports")

func lend(c *cells) (number int64) {
	lent.Lock()
	defer lent.Unlock()
	lent.last++
	lent.cells[lent.last] = c
	return lent.last
}

func takeBack(number int64) {
	lent.Lock()
	defer lent.Unlock()
	delete(lent.cells, number)
}

// addEach lets SQLite call the function for each order.
func addEach(ctx context.Context, conn *sql.Conn, c *cells, o chosenOrders) error {
	number := lend(c)
	defer takeBack(number)
	query := "SELECT " + addFunction + "(?, " + o.columns + ") FROM " + o.from
	var orders int64
	return conn.QueryRowContext(ctx, query, append([]any{number}, o.args...)...).Scan(&orders)
}

// adder is the function in one query.
type adder struct {
	to     *cells
	orders int64
}

// Step adds an order.
func (a *adder) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	var n [7]int64
	for i, v := range args {
		number, ok := v.(int64)
		if !ok {
			return fmt.Errorf("%T where a number should be", v)
		}
		n[i] = number
	}
	if a.to == nil && !a.find(n[0]) {
		return errNotLent
	}
	a.orders++
	return a.to.add(n[1], n[2], n[3], n[4], sum{1, n[5], n[6]})
}

func (a *adder) find(number int64) bool {
	lent.Lock()
	defer lent.Unlock()
	a.to = lent.cells[number]
	return a.to != nil
}

// WindowInverse is not called: no query uses the function over a window.
func (*adder) WindowInverse(*sqlite.FunctionContext, []driver.Value) error { return nil }

// WindowValue returns the number of orders.
func (a *adder) WindowValue(*sqlite.FunctionContext) (driver.Value, error) { return a.orders, nil }

// Final has nothing to do.
func (*adder) Final(*sqlite.FunctionContext) {}
