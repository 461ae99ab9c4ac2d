package commission

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

var observed = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func same(s string) string { return s }

// order returns a confirmed order in two currencies.
func order(sn string, edit ...func(*schema.Order)) schema.Order {
	o := schema.Order{
		ProgramID: schema.NewText("77"), OrderSn: schema.NewText(sn), WebsiteID: schema.NewText("w1"),
		LinkID: schema.NewText("l1"), SubID: schema.NewText("s1"), OrderTime: schema.NewText("2026-03-01 23:59:59"),
		OrdersPrice: schema.MoneyFromCents(10_000), SiterCommission: schema.MoneyFromCents(500), Currency: schema.NewText("CNY"),
		Status:       schema.NewText("1"),
		ConfirmPrice: schema.MoneyFromCents(1400), ConfirmSiterCommission: schema.MoneyFromCents(70), ChargeCurrency: schema.NewText("USD"),
		ChargeTime: schema.NewText("2026-03-20 10:00:00"),
	}
	for _, f := range edit {
		f(&o)
	}
	return o
}

// entry returns version v of an order at a place in the log.
func entry(sequence, v uint64, o schema.Order) schema.Entry {
	kind := schema.StatusChanged
	if v == 1 {
		kind = schema.OrderCreated
	}
	return entryOf(kind, sequence, v, o)
}

func entryOf(kind schema.EventType, sequence, v uint64, o schema.Order) schema.Entry {
	return entryAt(observed.Add(time.Duration(sequence)*time.Second), kind, sequence, v, o)
}

func entryAt(at time.Time, kind schema.EventType, sequence, v uint64, o schema.Order) schema.Entry {
	e := schema.NewEvent(kind, schema.Data{Account: "main", TimeZone: "Asia/Shanghai", Version: v, ObservedAt: at, Order: o})
	return schema.Entry{Sequence: sequence, Event: e}
}

// postgresVariable holds the address of the PostgreSQL server, postgres://...,
// that the tests use. Without it they use SQLite.
const postgresVariable = "ORDERWIRE_TEST_POSTGRES"

// newDSN returns the address of a new database: a file, or, with a server to
// use, a schema of its own.
func newDSN(t testing.TB) string {
	t.Helper()
	server := os.Getenv(postgresVariable)
	if server == "" {
		return newFile(t)
	}
	schema := "c" + strings.ToLower(rand.Text())
	administer(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { administer(t, server, "DROP SCHEMA "+schema+" CASCADE") })
	return server + map[bool]string{true: "&", false: "?"}[strings.Contains(server, "?")] + "search_path=" + schema
}

func newFile(t testing.TB) string { return filepath.Join(t.TempDir(), "books", "commission.db") }

func administer(t testing.TB, dsn, query string) {
	t.Helper()
	db, _ := connect(t, dsn)
	_, err := db.ExecContext(context.Background(), query)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// connect opens the database itself.
func connect(t testing.TB, dsn string) (*sql.DB, *place) {
	t.Helper()
	at, err := placeOf(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := at.openWriter(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return db, at
}

func open(t testing.TB) (*Books, string) {
	t.Helper()
	return openAt(t, newDSN(t))
}

// openFile opens books in a file, also when the tests use a server.
func openFile(t testing.TB) (*Books, string) {
	t.Helper()
	return openAt(t, newFile(t))
}

func openAt(t testing.TB, dsn string) (*Books, string) {
	t.Helper()
	b, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, dsn
}

func write(t testing.TB, b *Books, batch ...schema.Entry) {
	t.Helper()
	if err := b.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func report(t testing.TB, r *Reader, f Filter) []Sum {
	t.Helper()
	sums, err := r.Report(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// line writes a sum in short.
func line(s Sum) string {
	return fmt.Sprintf("%s %s %s/%s %s %s: %d orders %s, commission %s",
		s.ProgramID, s.Day, s.WebsiteID, s.SubID, s.Currency, s.StatusName, s.Orders, s.OrderAmount, s.Commission)
}
