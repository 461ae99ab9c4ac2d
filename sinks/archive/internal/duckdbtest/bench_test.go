package duckdbtest

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

const (
	benchDays   = 61 // October and November
	benchPerDay = 3000
	benchEvents = benchDays * benchPerDay
)

// BenchmarkMonthByProgram measures DuckDB's scan of one month's commission by
// program, one of two months being there: from the archive, and from the same
// events as JSON lines, one file for each month. (Small files of JSON, one for
// each date, take DuckDB longer.) It reports the bytes of an event on disk in
// either form.
func BenchmarkMonthByProgram(b *testing.B) {
	parquetDir, jsonDir := b.TempDir(), b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	events := make([]schema.Event, benchEvents)
	for i := range events {
		events[i] = benchEvent(r, i)
	}
	writeAll(b, parquetDir, benchEvents, func(i int) schema.Event { return events[i] })
	writeLines(b, jsonDir, events)

	inParquet := `SELECT program_id, sum(siter_commission) FROM events
		WHERE event_date BETWEEN DATE '2026-11-01' AND DATE '2026-11-30' GROUP BY ALL`
	inJSON := `SELECT data."order"."ProgramId", sum(data."order"."SiterCommission") FROM read_json(` +
		quoted(filepath.Join(jsonDir, "**", "*.json")) + `, format = 'newline_delimited', hive_partitioning = true, hive_types_autocast = false,
		columns = {data: 'STRUCT("order" STRUCT("ProgramId" VARCHAR, "SiterCommission" DECIMAL(10,2)))'})
		WHERE month = '2026-11' GROUP BY ALL`
	l := openLake(b, parquetDir)
	a, j := l.ask(b, inParquet), l.ask(b, inJSON)
	slices.Sort(a)
	slices.Sort(j)
	if len(a) != 20 || !slices.Equal(a, j) {
		b.Fatalf("Parquet: %v\nJSON: %v", a, j)
	}
	for _, form := range []struct{ name, query, dir, suffix string }{
		{"parquet", inParquet, parquetDir, ".parquet"}, {"json", inJSON, jsonDir, ".json"},
	} {
		b.Run(form.name, func(b *testing.B) {
			for b.Loop() {
				l.ask(b, form.query)
			}
			b.ReportMetric(float64(bytesOf(b, form.dir, form.suffix))/benchEvents, "B/event")
		})
	}
}

// BenchmarkMonthOfSmallFiles measures the scan of a month's commission by program
// from twelve files for each day, and from the one that a compaction makes of them.
func BenchmarkMonthOfSmallFiles(b *testing.B) {
	const days, perFile = 30, benchPerDay / 12
	dir, r := b.TempDir(), rand.New(rand.NewPCG(1, 2))
	a, err := archive.Open(b.Context(), archive.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < days*benchPerDay; i += perFile {
		var batch []schema.Entry
		for n := i; n < i+perFile; n++ {
			batch = append(batch, schema.Entry{Sequence: uint64(n + 1), Stored: stored, Event: benchEvent(r, n)})
		}
		if err := errors.Join(a.Write(b.Context(), batch), a.Flush(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	const query = "SELECT program_id, sum(siter_commission) FROM events GROUP BY ALL"
	var answers [2][]string
	for i, name := range []string{"small", "compacted"} {
		if i == 1 {
			compacted(b, dir)
		}
		l := openLake(b, dir)
		answers[i] = l.ask(b, query)
		slices.Sort(answers[i])
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.ask(b, query)
			}
			b.ReportMetric(float64(bytesOf(b, dir, ".parquet"))/(days*benchPerDay), "B/event")
		})
	}
	if !slices.Equal(answers[0], answers[1]) {
		b.Errorf("before %v, after %v", answers[0], answers[1])
	}
}

// benchEvent makes an event of about 1.1 KB, every second a change of status, in
// the order of the days.
func benchEvent(r *rand.Rand, n int) schema.Event {
	at := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n/benchPerDay).Add(time.Duration(n%benchPerDay) * 28 * time.Second)
	program, item := 1000+r.IntN(20), r.IntN(5000)
	text := func(format string, args ...any) schema.Text { return schema.NewText(fmt.Sprintf(format, args...)) }
	price, commission := schema.MoneyFromCents(int64(1000+r.IntN(100_000))), schema.MoneyFromCents(int64(100+r.IntN(5000)))
	number := text("2611%014d", r.IntN(1e12))
	d := schema.Data{Account: "main", TimeZone: "Asia/Shanghai", Version: 1, ObservedAt: at, Order: schema.Order{
		ID: text("%d", 880_000_000+n), ProgramID: text("%d", program), ProgramName: text("Programme %d", program),
		WebsiteID: text("%d", 70+r.IntN(9)), LinkID: text("%d", 90_000+r.IntN(500)), SubID: text("spring-%d", r.IntN(100)),
		OrderSn: number, OrderTime: text("%s", at.Format(time.DateTime)), OrdersPrice: price, SiterCommission: commission,
		Currency: text("CNY"), Status: text("%d", r.IntN(4)-1),
		Details: []schema.OrderLine{{
			GoodsCate: text("%d", 500+item%40), ItemCateName: text("Household"), ItemID: text("%d", 1_000_000+item),
			ItemName: text("Item %d with a name", item), ItemPrice: text("%d.%02d", item%300, item%100), ItemCount: text("%d", 1+r.IntN(3)),
			OrdersPrice: price, OrderCommission: commission, OrderSn: number,
			ItemImg: text("https://img.example.com/i/%d.jpg", item), LbOrderStatus: text("2"),
		}},
	}}
	if n%2 == 0 {
		return schema.NewEvent(schema.OrderCreated, d)
	}
	d.Version, d.Changes = 2, []schema.Change{{Path: "/Status", From: jsontext.Value(`"0"`), To: jsontext.Value(`"1"`)}}
	return schema.NewEvent(schema.StatusChanged, d)
}

// writeLines writes the events as JSON lines, one file for each month.
func writeLines(tb testing.TB, dir string, events []schema.Event) {
	tb.Helper()
	const october = 31 * benchPerDay
	for _, month := range [][]schema.Event{events[:october], events[october:]} {
		folder := filepath.Join(dir, "month="+month[0].Data.ObservedAt.Format("2006-01"))
		if err := os.MkdirAll(folder, 0o750); err != nil {
			tb.Fatal(err)
		}
		file, err := os.Create(filepath.Join(folder, "events.json"))
		if err != nil {
			tb.Fatal(err)
		}
		out := bufio.NewWriter(file)
		for i := range month {
			line, err := month[i].MarshalJSON()
			if err != nil {
				tb.Fatal(err)
			}
			_, _ = out.Write(append(line, '\n')) // Flush returns its error
		}
		if err := out.Flush(); err != nil {
			tb.Fatal(err)
		}
		if err := file.Close(); err != nil {
			tb.Fatal(err)
		}
	}
}

// bytesOf adds up the files with a suffix below a folder.
func bytesOf(tb testing.TB, dir, suffix string) (total int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, suffix) {
			return err
		}
		info, err := e.Info()
		total += info.Size()
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return total
}
