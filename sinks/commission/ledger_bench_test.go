package commission

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// benchVariable sets how many events BenchmarkLedger posts, over a fifth as many
// orders; 20,000 without it. The target is measured with 1,000,000.
const benchVariable = "ORDERWIRE_BENCH_EVENTS"

// traffic makes a log of five events an order, in the order of observation: it is
// pending, a line of it is paid, it is confirmed in another currency, approved,
// and then gets another amount (one of five), is lost (one of ten) or has a line
// that is settled. One of fifty stays pending. Orders come on 90 days and take from 20 to 60 for all of it;
// within a day the events stand in no order.
type traffic struct {
	orders int
	events []seen
	next   int
}

// seen is an event: which version of which order, after how many days.
type seen struct {
	order   int32
	day     int16
	version uint8
}

func newTraffic(events int) *traffic {
	g := &traffic{orders: events / 5, events: make([]seen, 0, events)}
	for i := range g.orders {
		for v := range 5 {
			g.events = append(g.events, seen{int32(i), int16(g.day(i) + v*pace(i)), uint8(v + 1)})
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(g.events), func(i, j int) { g.events[i], g.events[j] = g.events[j], g.events[i] })
	slices.SortStableFunc(g.events, func(a, b seen) int { return cmp.Compare(a.day, b.day) })
	return g
}

func (g *traffic) day(i int) int { return i * 90 / g.orders }

// pace is how many days lie between two events of an order.
func pace(i int) int { return 5 + i%11 }

// batch returns the next events, nil at the end.
func (g *traffic) batch() []schema.Entry {
	var all []schema.Entry
	for ; len(all) < benchBatch && g.next < len(g.events); g.next++ {
		all = append(all, g.entry(g.events[g.next]))
	}
	return all
}

func (g *traffic) entry(e seen) schema.Entry {
	i, version := int(e.order), uint64(e.version)
	day, seen := observed.AddDate(0, 0, g.day(i)), observed.AddDate(0, 0, int(e.day))
	text, cents := schema.NewText, schema.MoneyFromCents
	o := schema.Order{
		ProgramID: text(strconv.Itoa(100 + i%20)), OrderSn: text(fmt.Sprintf("20260301%010d", i)), WebsiteID: text(strconv.Itoa(9000 + i%7)),
		LinkID: text(strconv.Itoa(i % 3)), SubID: text("campaign-" + strconv.Itoa(i%11)), OrderTime: text(day.Format("2006-01-02 15:04:05")),
		OrdersPrice: cents(10_000), SiterCommission: cents(500), Currency: text("CNY"), Status: text([]string{"0", "0", "1", "2", "2"}[version-1]),
	}
	if i%50 == 7 {
		o.Status = text("0") // for good
	} else if version >= 3 {
		o.ConfirmPrice, o.ConfirmSiterCommission, o.ChargeCurrency = cents(1400), cents(70), text("USD")
		o.ChargeTime = text(day.AddDate(0, 0, 2*pace(i)).Format("2006-01-02 15:04:05"))
	}
	switch {
	case version < 5 || i%50 == 7:
	case i%10 == 0:
		o.Status = text("-1")
	case i%5 == 1:
		o.ConfirmSiterCommission = cents(65)
	}
	return entryAt(seen, schema.StatusChanged, uint64(g.next)+1, version, o)
}

// BenchmarkLedger posts events in batches of GoodBatch, each on disk; after each of them
// the bare driver inserts the very rows that this has written into tables without a
// key of another database; then every report is made.
func BenchmarkLedger(b *testing.B) {
	events := 20_000
	if n, err := strconv.Atoi(os.Getenv(benchVariable)); err == nil {
		events = n
	}
	for b.Loop() {
		books, _ := open(b)
		posted, limit := post(b, books, events)
		b.ReportMetric(float64(events)/posted.Seconds(), "events/s")
		b.ReportMetric(float64(events)/limit.Seconds(), "bare-events/s")
		b.ReportMetric(float64(reportTimes(b, books.Reader).Milliseconds()), "ms/slowest-report")
	}
	b.ReportMetric(0, "ns/op")
}

// post writes each batch to the books, and then the same rows with the bare driver.
func post(b *testing.B, books *Books, events int) (took, bare time.Duration) {
	g, d := newTraffic(events), newBareDriver(b)
	var all []*rows
	books.writer.written = func(r *rows) { all = append(all, bareRows(r)) }
	for batch := g.batch(); batch != nil; batch = g.batch() {
		all = all[:0]
		start := time.Now()
		write(b, books, batch...)
		took += time.Since(start)
		start = time.Now()
		if err := d.in(b.Context(), func(s *session) error { return insertAll(b.Context(), s, all) }); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(start)
	}
	return took, bare
}

// newBareDriver returns a writer to tables without a key, in a database of its own.
func newBareDriver(b *testing.B) *writer {
	_, dsn := open(b)
	db, at := connect(b, dsn)
	b.Cleanup(func() { _ = db.Close() })
	for _, table := range []string{
		"commission_states", "ledger_postings", "ledger_balances", "commission_dimensions", "commission_texts",
		"commission_totals", "commission_changes", "commission_settled", "commission_approvals",
	} {
		if _, err := db.ExecContext(b.Context(), "CREATE TABLE bare_"+table+" AS SELECT * FROM "+table+" WHERE 1 = 0"); err != nil {
			b.Fatal(err)
		}
	}
	return &writer{dialect: at.dialect, db: db, prepared: map[string]*sql.Stmt{}}
}

// bareRows returns the rows as a plain insert, all of their columns.
func bareRows(r *rows) *rows {
	columns := slices.Clone(r.columns)
	for i := range columns {
		columns[i].unused = false
	}
	plain := insert("bare_"+r.table, columns, "")
	plain.values = r.values
	return plain
}

func insertAll(ctx context.Context, s *session, all []*rows) error {
	for _, r := range all {
		if err := s.write(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
