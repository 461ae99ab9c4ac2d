package commission

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

// compareLedger holds the ledger to the events: every transaction balances per
// currency, and each account adds up to what a walk through the events gives.
func (m *machine) compareLedger(rt *rapid.T) {
	const unbalanced = `SELECT COUNT(*) FROM (SELECT transaction_id FROM ledger_entries
		GROUP BY transaction_id, currency HAVING SUM(amount) <> 0) AS u`
	if n := m.number(rt, unbalanced); n != 0 {
		rt.Fatalf("%d transactions do not balance", n)
	}
	const empty = `SELECT COUNT(*) FROM ledger_transactions WHERE id NOT IN (SELECT transaction_id FROM ledger_entries)`
	if n := m.number(rt, empty); n != 0 {
		rt.Fatalf("%d transactions without entries", n)
	}
	const entries = `SELECT ledger_account || ' ' || currency, CAST(SUM(amount) AS BIGINT) FROM ledger_entries
		WHERE ledger_account IN ('estimated', 'confirmed', 'approved', 'reversed') GROUP BY ledger_account, currency`
	got, want := m.sums(rt, entries), walk(m.log[:m.taken])
	if !maps.Equal(got, want) {
		rt.Fatalf("after %d entries\ngot  %v\nwant %v", m.taken, got, want)
	}
}

// walk follows each order through its events with decimals, by other code than
// the books use, and returns the sums by account and currency that are not 0.
func walk(log []schema.Entry) map[string]string {
	type place struct {
		account, currency string
		amount            decimal.Decimal
	}
	at := map[schema.OrderKey]place{}
	for i := range log {
		d := &log[i].Event.Data
		k, o := log[i].Event.Key(), &d.Order
		switch before, known := at[k]; o.Status.String() {
		case "0":
			at[k] = place{"estimated", o.Currency.String(), o.SiterCommission.Decimal()}
		case "1", "2":
			currency := o.ChargeCurrency.String()
			if currency == "" {
				currency = o.Currency.String()
			}
			at[k] = place{map[string]string{"1": "confirmed", "2": "approved"}[o.Status.String()], currency, o.ConfirmSiterCommission.Decimal()}
		default:
			if known {
				at[k] = place{"reversed", before.currency, before.amount}
			}
		}
	}
	sums := map[string]decimal.Decimal{}
	for _, p := range at {
		sums[p.account+" "+p.currency] = sums[p.account+" "+p.currency].Add(p.amount)
	}
	want := map[string]string{}
	for k, v := range sums {
		if !v.IsZero() {
			want[k] = v.StringFixed(2)
		}
	}
	return want
}

// compareMonths: the balances are the sums of the entries, closed months are as
// they were when they were closed, and who comes late names what it corrects.
func (m *machine) compareMonths(rt *rapid.T) {
	const key = "t.month || ' ' || e.ledger_account || ' ' || e.currency"
	fromEntries := m.sums(rt, "SELECT "+key+", CAST(SUM(e.amount) AS BIGINT) FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id GROUP BY "+key)
	balances := m.sums(rt, "SELECT month || ' ' || ledger_account || ' ' || currency, amount FROM ledger_balances")
	if !maps.Equal(fromEntries, balances) {
		rt.Fatalf("balances %v, entries %v", balances, fromEntries)
	}
	for month, want := range m.statements {
		got := statement(m.t, m.books.Reader, month)
		if !slices.Equal(got.Lines, want.Lines) || *got.Closing != *want.Closing {
			rt.Fatalf("%s is closed and changed from\n%+v\nto\n%+v", month, want, got)
		}
		if _, err := m.books.CheckMonth(m.t.Context(), month); err != nil {
			rt.Fatal(err)
		}
	}
	m.compareCorrections(rt)
}

func (m *machine) compareCorrections(rt *rapid.T) {
	type transaction struct {
		id, order, previous, corrects int64
		month, wanted                 string
	}
	rows, err := m.books.db.QueryContext(m.t.Context(), `SELECT t.id, t.order_id, t.previous, t.corrects, t.month, SUBSTR(t.observed_at, 1, 7)
		FROM ledger_transactions t ORDER BY t.id`)
	if err != nil {
		rt.Fatal(err)
	}
	defer rows.Close()
	byOrder := map[int64][]transaction{}
	for rows.Next() {
		var t transaction
		if err := rows.Scan(&t.id, &t.order, &t.previous, &t.corrects, &t.month, &t.wanted); err != nil {
			rt.Fatal(err)
		}
		if _, seen := m.closedAt[t.id]; !seen {
			m.closedAt[t.id] = m.closed
		}
		closed := m.closedAt[t.id]
		var previous, corrects int64
		for _, earlier := range byOrder[t.order] {
			previous = earlier.id
			if earlier.month <= closed {
				corrects = earlier.id
			}
		}
		if month := max(t.wanted, after(closed)); t.previous != previous || t.corrects != corrects || t.month != month {
			rt.Fatalf("transaction %+v, want month %s, previous %d and corrects %d", t, month, previous, corrects)
		}
		byOrder[t.order] = append(byOrder[t.order], t)
	}
	if err := rows.Err(); err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) number(rt *rapid.T, query string) (n int64) {
	if err := m.books.db.QueryRowContext(m.t.Context(), query).Scan(&n); err != nil {
		rt.Fatal(err)
	}
	return n
}

// sums reads keys and hundredths, without those that are 0.
func (m *machine) sums(rt *rapid.T, query string) map[string]string {
	rows, err := m.books.db.QueryContext(m.t.Context(), query)
	if err != nil {
		rt.Fatal(err)
	}
	defer rows.Close()
	sums := map[string]string{}
	for rows.Next() {
		var key string
		var amount int64
		if err := rows.Scan(&key, &amount); err != nil {
			rt.Fatal(err)
		}
		if amount != 0 {
			sums[key] = fmt.Sprint(schema.MoneyFromCents(amount))
		}
	}
	if err := rows.Err(); err != nil {
		rt.Fatal(err)
	}
	return sums
}
