package iceberg

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// epoch is the broker time of sequence 0 in tests.
var epoch = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// entry makes event n of the log: three accounts, two of them with names that
// paths have to escape, over some days and currencies.
func entry(tb testing.TB, n uint64) schema.Entry {
	tb.Helper()
	text := func(format string, args ...any) schema.Text { return schema.NewText(fmt.Sprintf(format, args...)) }
	e := schema.NewEvent(schema.OrderCreated, schema.Data{
		Account: []string{"main", "a=b/c", "ü 1"}[n%3], TimeZone: "Asia/Shanghai", Version: 1,
		ObservedAt: epoch.Add(time.Duration(n) * time.Hour),
		Order: schema.Order{
			ProgramID: text("%d", 1040+n%5), OrderSn: text("SN-%06d", n), OrderTime: text("2026-10-31 23:59:58"),
			SiterCommission: schema.MoneyFromCents(int64(n)*7 - 50), Currency: text("%s", []string{"CNY", "USD"}[n%2]), Status: text("1"),
			Details: []schema.OrderLine{{ItemID: text("%d", n), LbOrderStatus: text("2")}},
		},
	})
	raw, err := e.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	parsed, err := schema.ParseEvent(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return schema.Entry{Sequence: n, Stored: epoch.Add(time.Duration(n) * time.Second), Raw: raw, Event: parsed}
}

// entries makes the events of a range of sequences.
func entries(tb testing.TB, first, last uint64) []schema.Entry {
	tb.Helper()
	var all []schema.Entry
	for n := first; n <= last; n++ {
		all = append(all, entry(tb, n))
	}
	return all
}

func openArchive(tb testing.TB, dir string, follower archive.Follower) *archive.Archive {
	tb.Helper()
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir, Follower: follower, RollEvery: 24 * time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = a.Close() })
	return a
}

// commit writes a range of sequences as one batch.
func commit(tb testing.TB, a *archive.Archive, first, last uint64) {
	tb.Helper()
	if err := a.Write(tb.Context(), entries(tb, first, last)); err != nil {
		tb.Fatal(err)
	}
	if err := a.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// archived writes batches that end at the given sequences into an archive,
// behind what it has.
func archived(tb testing.TB, dir string, lasts ...uint64) {
	tb.Helper()
	a := openArchive(tb, dir, nil)
	for _, last := range lasts {
		at, err := a.Position(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		commit(tb, a, at+1, last)
	}
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
}

// configure returns the configuration of a catalog in a folder.
func configure(tb testing.TB, dir string) Config {
	tb.Helper()
	return Config{
		Archive: dir, Catalog: "sqlite://" + filepath.ToSlash(filepath.Join(tb.TempDir(), "catalog.db")),
		Logger: slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

func newFollower(tb testing.TB, cfg Config) *Follower {
	tb.Helper()
	f, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

func follow(tb testing.TB, f *Follower) {
	tb.Helper()
	if err := f.Follow(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// open loads the table as any reader would.
func open(tb testing.TB, f *Follower) *table.Table {
	tb.Helper()
	if err := f.connected(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	t, err := f.tables.LoadTable(tb.Context(), f.table)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// manifest reads the archive's entries.
func manifest(tb testing.TB, dir string) []archive.Commit {
	tb.Helper()
	all, err := archive.ReadManifest(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// readSource reads the footer of the first file of an entry.
func readSource(tb testing.TB, f *Follower, i int) *source {
	tb.Helper()
	all, err := f.readSources(tb.Context(), manifest(tb, f.source)[i].Files[:1])
	if err != nil {
		tb.Fatal(err)
	}
	return &all[0]
}

// found is what a scan or an archive holds.
type found struct {
	sequences []int64 // ascending
	sums      map[string]decimal.Decimal
}

func (f *found) add(sequence int64, currency string, commission decimal.Decimal) {
	if f.sums == nil {
		f.sums = make(map[string]decimal.Decimal)
	}
	f.sequences = append(f.sequences, sequence)
	f.sums[currency] = f.sums[currency].Add(commission)
}

func (f *found) equal(other *found) bool {
	slices.Sort(f.sequences)
	slices.Sort(other.sequences)
	return slices.Equal(f.sequences, other.sequences) && maps.EqualFunc(f.sums, other.sums, decimal.Decimal.Equal)
}

// scan reads the table by iceberg-go's own reader.
func scan(tb testing.TB, t *table.Table, options ...table.ScanOption) *found {
	tb.Helper()
	f := &found{}
	options = append(options, table.WithSelectedFields("sequence", "currency", "siter_commission"))
	_, records, err := t.Scan(options...).ToArrowRecords(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for r, err := range records {
		if err != nil {
			tb.Fatal(err)
		}
		columns := make(map[string]int)
		for i, c := range r.Schema().Fields() {
			columns[c.Name] = i
		}
		for i := range int(r.NumRows()) {
			commission, err := decimal.NewFromString(r.Column(columns["siter_commission"]).ValueStr(i))
			if err != nil {
				tb.Fatal(err)
			}
			f.add(r.Column(columns["sequence"]).(*array.Int64).Value(i), r.Column(columns["currency"]).ValueStr(i), commission)
		}
		r.Release()
	}
	return f
}

// held reads the archive, all of it or one account.
func held(ctx context.Context, tb testing.TB, dir string, accounts ...string) *found {
	tb.Helper()
	f := &found{}
	for row, err := range archive.Rows(ctx, dir) {
		if err != nil {
			tb.Fatal(err)
		}
		if accounts == nil || slices.Contains(accounts, row.Account) {
			f.add(row.Sequence, *row.Currency, decimal.New(*row.SiterCommission, -2))
		}
	}
	return f
}

// sameAs compares the table with the archive.
func sameAs(tb testing.TB, f *Follower, dir string) *table.Table {
	tb.Helper()
	t := open(tb, f)
	want, got := held(tb.Context(), tb, dir), scan(tb, t)
	if !got.equal(want) || len(want.sequences) == 0 {
		tb.Errorf("the table has %d rows with %v, the archive %d with %v", len(got.sequences), got.sums, len(want.sequences), want.sums)
	}
	return t
}

// snapshots returns the table's snapshots, oldest first.
func snapshots(t *table.Table) []table.Snapshot { return t.Metadata().Snapshots() }

func is(account string) table.ScanOption {
	return table.WithRowFilter(ice.EqualTo(ice.Reference("account"), account))
}
