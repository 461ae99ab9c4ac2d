package commission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

// TestBooksEqualTheRecomputation writes a random log in random batches, with
// doubles, replays from earlier places, crashes before any statement and before
// the commit, restarts and closings of months, and holds the books after each
// step to what other code makes of the events.
func TestBooksEqualTheRecomputation(t *testing.T) {
	t.Parallel()
	b, dsn := open(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: t, books: b, dsn: dsn, log: randomLog(rt), statements: map[string]*Statement{}, closedAt: map[int64]string{}}
		for _, table := range []string{"commission_states", "ledger_postings", "ledger_balances", "ledger_months", "ledger_closings",
			"commission_dimensions", "commission_texts", "commission_totals", "commission_changes", "commission_settled", "commission_approvals"} {
			m.exec("DELETE FROM " + table)
		}
		m.exec("UPDATE commission_position SET sequence = 0, last_order = 0, last_transaction = 0, last_dimension = 0, last_text = 0")
		b.registers = newRegisters()
		steps := map[string]func(*rapid.T){"next": m.next, "replay": m.replay, "crash": m.crash, "restart": m.restart, "close": m.close}
		names := rapid.SampledFrom([]string{"next", "next", "next", "next", "replay", "crash", "crash", "restart", "close", "close"})
		for _, name := range rapid.SliceOfN(names, 1, 8).Draw(rt, "steps") {
			steps[name](rt)
			m.compare(rt)
			m.compareLedger(rt)
			m.compareMonths(rt)
			m.compareSums(rt)
		}
		m.compareFull(rt)
		b = m.books // a restart has replaced them
	})
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// machine drives the books. taken is how much of the log they have seen.
type machine struct {
	t     *testing.T
	books *Books
	dsn   string
	log   []schema.Entry
	taken int

	closed     string                // last closed month
	statements map[string]*Statement // of the closed months, as they were then
	closedAt   map[int64]string      // by transaction: the last month that was closed when it was posted
}

func (m *machine) exec(query string) {
	if _, err := m.books.writer.db.ExecContext(m.t.Context(), query); err != nil {
		m.t.Fatal(err)
	}
}

// next does what the runner does: it goes on behind the position.
func (m *machine) next(rt *rapid.T) {
	from := int(position(m.t, m.books.Reader))
	to := rapid.IntRange(from, len(m.log)).Draw(rt, "to")
	m.write(rt, from, to)
}

// replay goes on from anywhere before.
func (m *machine) replay(rt *rapid.T) {
	from := rapid.IntRange(0, m.taken).Draw(rt, "from")
	to := rapid.IntRange(from, len(m.log)).Draw(rt, "to")
	m.write(rt, from, to)
}

// write writes a part of the log in one batch, some of it twice.
func (m *machine) write(rt *rapid.T, from, to int) {
	batch := slices.Clone(m.log[from:to])
	if len(batch) > 0 && rapid.Bool().Draw(rt, "doubled") {
		batch = append(batch, batch[rapid.IntRange(0, len(batch)-1).Draw(rt, "doubled from"):]...)
	}
	write(m.t, m.books, batch...)
	m.taken = max(m.taken, to)
}

// crash fails before one of the statements or before the commit.
func (m *machine) crash(rt *rapid.T) {
	to := rapid.IntRange(m.taken, len(m.log)).Draw(rt, "to")
	left := rapid.IntRange(0, 8).Draw(rt, "statements before the crash")
	crash := errors.New("crash")
	m.books.writer.fault = func() error {
		if left--; left < 0 {
			return crash
		}
		return nil
	}
	err := m.books.Write(m.t.Context(), m.log[m.taken:to])
	m.books.writer.fault = nil
	switch {
	case err == nil:
		m.taken = to
	case !errors.Is(err, crash):
		rt.Fatal(err)
	}
}

func (m *machine) restart(rt *rapid.T) {
	if err := m.books.Close(); err != nil {
		rt.Fatal(err)
	}
	var err error
	if m.books, err = Open(m.t.Context(), m.dsn); err != nil {
		rt.Fatal(err)
	}
}

// close closes the first open month that holds something.
func (m *machine) close(rt *rapid.T) {
	var month string
	query := "SELECT COALESCE(MIN(month), '') FROM ledger_transactions WHERE month > '" + m.closed + "'"
	if err := m.books.db.QueryRowContext(m.t.Context(), query).Scan(&month); err != nil {
		rt.Fatal(err)
	}
	if month == "" {
		return
	}
	before := statement(m.t, m.books.Reader, month)
	c, err := m.books.CloseMonth(m.t.Context(), month, observed.AddDate(10, 0, 0))
	if err != nil {
		rt.Fatal(err)
	}
	s := statement(m.t, m.books.Reader, month)
	if !slices.Equal(s.Lines, before.Lines) || !s.Closed || *s.Closing != *c {
		rt.Fatalf("closing %s changed it from\n%+v\nto\n%+v", month, before, s)
	}
	m.closed, m.statements[month] = month, s
}

func (m *machine) compare(rt *rapid.T) {
	if p := position(m.t, m.books.Reader); p != uint64(m.taken) {
		rt.Fatalf("position %d after %d entries", p, m.taken)
	}
	if wrong := faults(m.t, m.books.Reader, ""); len(wrong) > 0 {
		rt.Fatalf("after %d entries the books contradict themselves: %q", m.taken, wrong)
	}
	got := report(m.t, m.books.Reader, Filter{})
	want := recompute(m.log[:m.taken])
	if !slices.Equal(got, want) {
		rt.Fatalf("after %d entries\ngot  %v\nwant %v", m.taken, got, want)
	}
}

// recompute sums the last version of each order with decimals, by other code
// than the books use.
func recompute(log []schema.Entry) []Sum {
	last := map[schema.OrderKey]*schema.Data{}
	for i := range log {
		last[log[i].Event.Key()] = &log[i].Event.Data
	}
	type pair struct{ amount, commission decimal.Decimal }
	amounts, sums := map[Sum]pair{}, map[Sum]int64{}
	for _, d := range last {
		s, p := Sum{
			Account: d.Account, ProgramID: d.Order.ProgramID.String(), WebsiteID: d.Order.WebsiteID.String(),
			SubID: d.Order.SubID.String(), Status: d.Order.Status.String(), StatusName: "Unknown", Currency: d.Order.Currency.String(),
			Day: d.Order.OrderTime.String()[:10],
		}, pair{amount: d.Order.OrdersPrice.Decimal()}
		switch s.Status {
		case "-1":
			s.StatusName = "Invalid"
		case "0":
			s.StatusName, p.commission = "Pending", d.Order.SiterCommission.Decimal()
		case "1", "2":
			s.StatusName = map[string]string{"1": "Confirmed", "2": "Approved"}[s.Status]
			s.Currency = cmp.Or(d.Order.ChargeCurrency.String(), s.Currency)
			p = pair{d.Order.ConfirmPrice.Decimal(), d.Order.ConfirmSiterCommission.Decimal()}
		}
		sums[s]++
		amounts[s] = pair{amounts[s].amount.Add(p.amount), amounts[s].commission.Add(p.commission)}
	}
	all := []Sum{}
	for s, n := range sums {
		p := amounts[s]
		s.Orders, s.OrderAmount, s.Commission = n, schema.NewMoney(p.amount), schema.NewMoney(p.commission)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sum) int { return slices.Compare(sortKey(a), sortKey(b)) })
	return all
}

func sortKey(s Sum) []string {
	return []string{s.Account, s.ProgramID, s.Day, s.WebsiteID, s.SubID, s.Currency, s.Status}
}

// randomLog draws up to 40 events of up to 6 orders.
func randomLog(rt *rapid.T) []schema.Entry {
	one := func(label string, values ...string) schema.Text {
		return schema.NewText(rapid.SampledFrom(values).Draw(rt, label))
	}
	cents := func(label string) schema.Money {
		return schema.MoneyFromCents(rapid.Int64Range(-9_999_999_999, 9_999_999_999).Draw(rt, label))
	}
	versions := map[string]uint64{}
	log := make([]schema.Entry, rapid.IntRange(1, 40).Draw(rt, "events"))
	for i := range log {
		program, sn := one("program", "1", "2"), fmt.Sprint("order ", rapid.IntRange(1, 3).Draw(rt, "order"))
		key := program.String() + sn
		versions[key]++
		kind := rapid.SampledFrom([]schema.EventType{schema.StatusChanged, schema.OrderUpdated, schema.OrderVanished}).Draw(rt, "type")
		at := observed.AddDate(0, rapid.IntRange(0, 3).Draw(rt, "month"), 0)
		log[i] = entryAt(at, kind, uint64(i+1), versions[key], order(sn, func(o *schema.Order) {
			o.ProgramID, o.WebsiteID, o.SubID = program, one("website", "", "w1"), one("sub id", "", "s1")
			o.LinkID = one("link", "", "l1")
			o.OrderTime = one("day", "2026-03-01 10:00:00", "2026-03-02 10:00:00")
			o.ChargeTime = one("charge day", "", "2026-03-02 10:00:00", "2026-05-02 10:00:00")
			o.Status = one("status", "-1", "0", "1", "2", "on hold")
			o.Currency, o.ChargeCurrency = one("currency", "CNY", "USD"), one("charge currency", "", "CNY", "USD")
			o.OrdersPrice, o.SiterCommission = cents("price"), cents("commission")
			o.ConfirmPrice, o.ConfirmSiterCommission = cents("confirmed price"), cents("confirmed commission")
		}))
	}
	return log
}
