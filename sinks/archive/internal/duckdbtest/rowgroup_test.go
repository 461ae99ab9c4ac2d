package duckdbtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// The archive's row groups have 65,536 rows; the file of this test has 5.
const (
	groupRows  = 65_536
	groupCount = 5
)

// orderNumber scatters the numbers of a million orders, so that each row group
// has numbers from the whole range.
func orderNumber(i int) string { return fmt.Sprintf("SN%07d", i*611_953%1_000_003) }

// groupsQuery gives the bytes of each row group, from its first page to the end
// of its last.
const groupsQuery = `SELECT row_group_id AS id, min(start) AS start, max(start + total_compressed_size) AS stop
	FROM (SELECT *, least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset)) AS start
		FROM parquet_metadata(%s)) GROUP BY ALL`

// A filter on one order number reads pages of that row group alone in which the
// number stands. DuckDB's log of its own reads of the file says so; its counter
// of scanned rows would not, as it counts what is skipped, too.
func TestFilterReadsMatchingRowGroups(t *testing.T) {
	dir := t.TempDir()
	writeAll(t, dir, groupRows*groupCount, func(i int) schema.Event {
		return schema.NewEvent(schema.OrderCreated, schema.Data{
			Account: "main", TimeZone: "Asia/Shanghai", Version: 1, ObservedAt: stored, Order: schema.Order{
				ProgramID: schema.NewText(fmt.Sprint(1000 + i%8)), OrderSn: schema.NewText(orderNumber(i)),
				OrdersPrice: schema.MoneyFromCents(int64(i)), Currency: schema.NewText("CNY"),
			},
		})
	})
	l := openLake(t, dir)
	l.exec(t, "SET enable_external_file_cache = false") // so that each query reads for itself
	glob := quoted(filepath.Join(dir, "**", "*.parquet"))
	l.exec(t, "CREATE TABLE row_groups AS "+fmt.Sprintf(groupsQuery, glob))
	if got := l.ask(t, "SELECT count(*) FROM row_groups"); got[0] != fmt.Sprint(groupCount) {
		t.Fatalf("%s row groups, want %d", got, groupCount)
	}

	for _, i := range []int{7, 123_456, 200_003, 327_679} {
		number := orderNumber(i)
		l.answers(t, fmt.Sprintf(`SELECT bool_and(stats_min_value < '%s' AND stats_max_value > '%[1]s')
			FROM parquet_metadata(%s) WHERE path_in_schema = 'order_sn'`, number, glob), []string{"true"}) // so that only the bloom filter can tell
		home := l.ask(t, fmt.Sprintf("SELECT file_row_number // %d FROM read_parquet(%s, file_row_number = true) WHERE order_sn = '%s'", groupRows, glob, number))
		l.answers(t, fmt.Sprintf("SELECT row_group_id FROM parquet_bloom_probe(%s, 'order_sn', '%s') WHERE NOT bloom_filter_excludes", glob, number), home)
		want := fmt.Sprintf("%d.%02d|%d", i/100, i%100, i+1)
		got, read := groupsRead(t, l, fmt.Sprintf("SELECT orders_price, sequence FROM events WHERE order_sn = '%s'", number))
		if !slices.Equal(got, []string{want}) || !slices.Equal(read, home) {
			t.Errorf("order %s: found %q, want %s; row groups %v were read, the order stands in %v", number, got, want, read, home)
		}
	}

	got, read := groupsRead(t, l, "SELECT orders_price, sequence FROM events WHERE order_sn = 'SN0500000-none'")
	if len(got)+len(read) > 0 {
		t.Errorf("an order that is not there: found %q in row groups %v", got, read)
	}
	if _, read := groupsRead(t, l, "SELECT sum(orders_price) FROM events"); len(read) != groupCount {
		t.Errorf("a full scan: row groups %v were read; the means of this test are wrong", read)
	}
}

// groupsRead asks, and returns the row groups of which DuckDB has read pages
// meanwhile.
func groupsRead(tb testing.TB, l *lake, query string) (rows, groups []string) {
	tb.Helper()
	l.exec(tb, "CALL truncate_duckdb_logs()")
	l.exec(tb, "CALL enable_logging('FileSystem')")
	rows = l.ask(tb, query)
	l.exec(tb, "CALL disable_logging()")
	reads := "SELECT pos::BIGINT AS pos, bytes::BIGINT AS bytes FROM duckdb_logs_parsed('FileSystem') WHERE op = 'READ'"
	if got := l.ask(tb, "SELECT count(*) > 0 FROM ("+reads+")"); got[0] != "true" {
		tb.Fatal("DuckDB has logged no reads")
	}
	groups = l.ask(tb, "SELECT DISTINCT id FROM row_groups JOIN ("+reads+") ON pos < stop AND pos + bytes > start ORDER BY id")
	return rows, groups
}
