package commission

import (
	"database/sql"
	"fmt"
	"path/filepath"
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

// newDSN returns the address of a new database.
func newDSN(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "books", "commission.db")
}

// connect opens the database itself.
func connect(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := openWriter(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func open(t testing.TB) (*Books, string) {
	t.Helper()
	dsn := newDSN(t)
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
