package duckdbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/sinks/archive"
)

// earlierRow is a row as an earlier schema may have had it: columns are missing
// in the row and in its lines.
type earlierRow struct {
	Sequence    int64         `parquet:"sequence"`
	StoredAt    time.Time     `parquet:"stored_at,timestamp(microsecond)"`
	EventID     string        `parquet:"event_id"`
	EventType   string        `parquet:"event_type,dict"`
	Version     int64         `parquet:"version"`
	ObservedAt  time.Time     `parquet:"observed_at,timestamp(microsecond)"`
	TimeZone    string        `parquet:"time_zone,dict"`
	OrderSn     string        `parquet:"order_sn,delta"`
	OrdersPrice *int64        `parquet:"orders_price,decimal(2:10)"`
	Lines       []earlierLine `parquet:"lines,optional,list"`
}

type earlierLine struct {
	ItemName    *string `parquet:"item_name,dict"`
	OrdersPrice *int64  `parquet:"orders_price,decimal(2:10)"`
}

// laterRow is a row with columns that no schema has yet.
type laterRow struct {
	archive.Row
	Voucher *string    `parquet:"voucher"`
	Closed  *time.Time `parquet:"closed_at,timestamp(microsecond)"`
}

// The files of an earlier and of a later schema are read together with those of
// the present one, by DuckDB under the names of the columns and by package
// archive. Columns that a file lacks are null.
func TestSchemasTogether(t *testing.T) {
	dir := t.TempDir()
	const present = 30
	writeEvents(t, dir, present)
	name, voucher, cents := "杯子", "V-1", int64(1250)
	earlier := earlierRow{
		Sequence: 1001, StoredAt: stored, EventID: "e1", EventType: "order.created", Version: 1, ObservedAt: stored,
		TimeZone: "Asia/Shanghai", OrderSn: "EARLIER", OrdersPrice: &cents, Lines: []earlierLine{{ItemName: &name, OrdersPrice: &cents}},
	}
	later := laterRow{Voucher: &voucher, Closed: &stored, Row: archive.Row{
		Sequence: 1002, StoredAt: stored, EventID: "e2", EventType: "order.created", Version: 1, ObservedAt: stored,
		TimeZone: "Asia/Shanghai", OrderSn: "LATER", OrdersPrice: &cents, SubID: &name, Lines: []archive.Line{{ItemName: &name, ShopTitle: &name}},
	}}
	older, newer := place(t, dir, 1001), place(t, dir, 1002)
	writeRow(t, older, earlier)
	writeRow(t, newer, later)

	l := openLake(t, dir, "union_by_name = true")
	l.answers(t, "SELECT count(*), count(DISTINCT sequence) FROM events", []string{key(present+2, present+2)})
	l.answers(t, `SELECT order_sn, orders_price, sub_id, regression, voucher, epoch_us(closed_at), account, event_date,
		lines[1].item_name, lines[1].orders_price, lines[1].shop_title FROM events WHERE sequence > 1000`, []string{
		"EARLIER|12.50|NULL|NULL|NULL|NULL|main|2026-11-01|杯子|12.50|NULL",
		key("LATER|12.50|杯子|false|V-1", stored.UnixMicro(), "main|2026-11-01|杯子|NULL|杯子"),
	})
	l.answers(t, "SELECT count(*) FROM events WHERE voucher IS NULL", []string{fmt.Sprint(present + 1)})
	l.answers(t, "SELECT column_name, column_type FROM (DESCRIBE events)",
		append([]string{"voucher|VARCHAR", "closed_at|TIMESTAMP WITH TIME ZONE"}, columnTypes...))

	a := readOne(t, older)
	if a.Sequence != 1001 || a.OrderSn != "EARLIER" || a.Account != "main" || *a.OrdersPrice != cents || a.SubID != nil ||
		a.Regression || len(a.Lines) != 1 || *a.Lines[0].ItemName != name || a.Lines[0].ShopTitle != nil || !a.ObservedAt.Equal(stored) {
		t.Errorf("our reader has of the earlier schema %+v", a)
	}
	b := readOne(t, newer)
	if b.Sequence != 1002 || b.OrderSn != "LATER" || *b.SubID != name || len(b.Lines) != 1 || *b.Lines[0].ShopTitle != name {
		t.Errorf("our reader has of the later schema %+v", b)
	}
}

// place makes the name of a file of one event in the partition of stored.
func place(tb testing.TB, dir string, sequence int) string {
	tb.Helper()
	folder := filepath.Join(dir, "account=main", "event_date=2026-11-01")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(folder, fmt.Sprintf("%020d-%020[1]d.parquet", sequence))
}

func writeRow[T any](tb testing.TB, file string, row T) {
	tb.Helper()
	if err := parquet.WriteFile(file, []T{row}); err != nil {
		tb.Fatal(err)
	}
}

// readOne reads a file of one row with package archive.
func readOne(tb testing.TB, file string) archive.Row {
	tb.Helper()
	var all []archive.Row
	for row, err := range archive.ReadFile(tb.Context(), file) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, row)
	}
	if len(all) != 1 {
		tb.Fatalf("%s: %d rows, want 1", filepath.Base(file), len(all))
	}
	return all[0]
}
