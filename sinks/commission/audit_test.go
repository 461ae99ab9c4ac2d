package commission

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// audited opens the present state of the books for the length of a test.
func audited(t testing.TB, r *Reader) *Audit {
	t.Helper()
	a, err := r.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// faults lists what is wrong with the books of an account, "" for all.
func faults(t testing.TB, r *Reader, account string) []string {
	t.Helper()
	a, err := r.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all := []string{}
	for f, err := range a.Faults(t.Context(), account) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", f.Kind, f.Key.OrderSn, f.Day, f.What)))
	}
	return all
}

// allWays is a log in which orders take all ways.
func allWays() []schema.Entry {
	status := func(s string, commission int64) func(*schema.Order) {
		return func(o *schema.Order) {
			o.Status, o.SiterCommission = schema.NewText(s), schema.MoneyFromCents(commission)
			o.ConfirmSiterCommission = schema.MoneyFromCents(commission)
		}
	}
	other := entry(9, 1, order("a", status("1", 70)))
	other.Event = schema.NewEvent(schema.OrderCreated, schema.Data{Account: "other", Version: 1, ObservedAt: observed, Order: other.Event.Data.Order})
	return []schema.Entry{
		entry(1, 1, order("a", status("0", 500))), entry(2, 1, order("b", status("0", 300))), entry(3, 1, order("c", status("-1", 10))),
		entry(4, 2, order("a", status("1", 70))), entry(5, 3, order("a", status("2", 60))), entry(6, 2, order("b", status("-1", 0))),
		entry(7, 3, order("b", status("0", 0))), entryOf(schema.OrderVanished, 8, 4, order("b", status("0", 0))), other,
	}
}

// What an event makes of its order is what the books then hold.
func TestAuditedOrders(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	last := map[schema.OrderKey]Audited{}
	for _, e := range allWays() {
		write(t, b, e)
		after, err := b.Audited(&e)
		if err != nil {
			t.Fatal(err)
		}
		last[after.Key] = after
	}
	for account, want := range map[string]int{"": 4, "main": 3, "other": 1, "nobody": 0} {
		a, got := audited(t, b.Reader), 0
		for o, err := range a.Orders(t.Context(), account) {
			if got++; err != nil || o != last[o.Key] {
				t.Errorf("the books have %+v, the log %+v, %v", o, last[o.Key], err)
			}
		}
		if n, err := a.Count(t.Context(), account); got != want || n != int64(want) || a.Position() != 9 || err != nil {
			t.Errorf("%q: %d orders, %d counted, at %d, %v", account, got, n, a.Position(), err)
		}
	}
	wrong := entry(10, 1, order("d", func(o *schema.Order) { o.OrdersPrice = schema.MoneyFromCents(1 << 60) }))
	var refused *EntryError
	if _, err := b.Audited(&wrong); !errors.As(err, &refused) || refused.Sequence != 10 {
		t.Errorf("got %v", err)
	}
}

// An audit shows one state, whatever is written meanwhile.
func TestAuditIsOneState(t *testing.T) {
	t.Parallel()
	b, _ := open(t)
	write(t, b, allWays()[:3]...)
	a := audited(t, b.Reader)
	write(t, b, allWays()[3:]...)
	n := 0
	for o, err := range a.Orders(t.Context(), "") {
		if n++; err != nil || o.Version != 1 {
			t.Errorf("%+v, %v", o, err)
		}
	}
	if n != 3 || a.Position() != 3 {
		t.Errorf("%d orders at %d", n, a.Position())
	}
}

// Books that a program keeps have no faults; what somebody else changes in them is
// named, and nothing else.
func TestFaults(t *testing.T) {
	t.Parallel()
	of := func(sn string) string {
		return "(SELECT id FROM commission_orders WHERE account = 'main' AND order_sn = '" + sn + "')"
	}
	text := func(s string) string { return "(SELECT id FROM commission_texts WHERE text = '" + s + "')" }
	for _, tt := range []struct {
		name, statement string
		want            []string
	}{
		{"nothing", "", nil},
		{"commission", "UPDATE commission_states SET commission = 61 WHERE id = " + of("a"), []string{
			"standing a 2026-03-01: the order counts as USD 0.61 in approved, and stands with USD 0.60 in approved",
			"sums  2026-03-01: the sum of status 2 in USD is off by 0 orders, amount 0.00, commission -0.01 against the orders",
		}},
		{"standing", "UPDATE commission_states SET ledger_amount = 1 WHERE order_sn = 'c'", []string{
			"entries c 2026-03-01: the order stands with 0.01 in no account, and its entries add up to nothing",
		}},
		{"lost commission", "UPDATE commission_states SET commission = 9 WHERE order_sn = 'c'", []string{
			"standing c 2026-03-01: the order earns nothing by its status, and counts with CNY 0.09",
			"sums  2026-03-01: the sum of status -1 in CNY is off by 0 orders, amount 0.00, commission -0.09 against the orders",
		}},
		{"entry", "UPDATE ledger_postings SET amount_2 = amount_2 + 5 WHERE id = (SELECT transaction_id FROM ledger_entries WHERE ledger_account = 'approved')", []string{
			"unbalanced a 2026-03-01: transaction 4: a transaction does not balance: 5 hundredths are left over",
			"entries a 2026-03-01: the order stands with USD 0.60 in approved, and its entries add up to USD 0.65 in approved",
			"balance  : the balance of approved in USD, month 2026-03, is off by -0.05 against the entries",
		}},
		{"lost", "UPDATE commission_states SET ledger_account = " + text("confirmed") + " WHERE id = " + of("a"), []string{
			"entries a 2026-03-01: the order stands with USD 0.60 in confirmed, and its entries add up to USD 0.00 in confirmed",
			"entries a 2026-03-01: the order stands with USD 0.60 in confirmed, and its entries leave USD 0.60 in approved too",
			"standing a 2026-03-01: the order counts as USD 0.60 in approved, and stands with USD 0.60 in confirmed",
		}},
		{"sum", "UPDATE commission_totals SET commission = commission + 7 WHERE kind = 4 AND status = " + text("2"), []string{
			"sums  2026-03-01: the sum of status 2 in USD is off by 0 orders, amount 0.00, commission 0.07 against the orders",
		}},
		{"balance", "UPDATE ledger_balances SET amount = amount - 3 WHERE account = 'main' AND ledger_account = 'approved'", []string{
			"balance  : the balance of approved in USD, month 2026-03, is off by -0.03 against the entries",
		}},
		{"orphans", "UPDATE ledger_postings SET order_id = 99 WHERE id = 1 AND order_id = " + of("a"), []string{
			"orphans  : the ledger holds 1 transactions of no order and 0 entries of no transaction",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, dsn := open(t)
			write(t, b, allWays()...)
			if got := faults(t, b.Reader, ""); len(got) > 0 {
				t.Fatalf("before: %q", got)
			}
			if tt.statement != "" {
				damage(t, dsn, tt.statement)
			}
			got := faults(t, b.Reader, "main")
			if tt.name == "orphans" { // and what is missing then
				got = got[len(got)-1:]
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if got := faults(t, b.Reader, "other"); len(got) > 0 && tt.name != "orphans" && tt.name != "sum" {
				t.Errorf("other: %q", got)
			}
		})
	}
}

// damage changes one row of the tables.
func damage(t testing.TB, dsn, statement string) {
	t.Helper()
	db, _ := connect(t, dsn)
	done, err := db.ExecContext(t.Context(), statement)
	if err == nil {
		err = oneRow(done)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func oneRow(done sql.Result) error {
	n, err := done.RowsAffected()
	if err == nil && n < 1 {
		err = fmt.Errorf("%d rows changed", n)
	}
	return err
}
