package duckdbtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sinks/archive"
)

// compacted merges the small files of a set.
func compacted(tb testing.TB, dir string) {
	tb.Helper()
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	done, err := archive.Compact(tb.Context(), archive.CompactConfig{Dir: dir, Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	if done.FilesAfter*2 > done.FilesBefore || done.Overtaken > 0 {
		tb.Fatalf("done %+v", done)
	}
}

// Each answer is the same before and after a compaction, and a filter on one order
// number reads fewer files and row groups.
func TestCompactedSet(t *testing.T) {
	_, dir := archivedLog(t)
	queries := []string{
		"SELECT account, event_date, count(*) FROM events GROUP BY ALL",
		"SELECT currency, status, sum(orders_price), sum(siter_commission), sum(confirm_price) FROM events GROUP BY ALL",
		"SELECT account, min(observed_at), max(observed_at), min(order_time), max(charge_time), min(sequence), max(sequence) FROM events GROUP BY ALL",
	}
	var before [][]string
	l := openLake(t, dir)
	for _, query := range queries {
		before = append(before, l.ask(t, query))
	}
	const order = "SN0002" // has three versions, each in another small file
	rows, files, groups := partsRead(t, dir, order)
	compacted(t, dir)
	l = openLake(t, dir)
	for i, query := range queries {
		l.answers(t, query, before[i])
	}
	rowsAfter, filesAfter, groupsAfter := partsRead(t, dir, order)
	slices.Sort(rows)
	slices.Sort(rowsAfter)
	if len(rows) != 3 || !slices.Equal(rows, rowsAfter) {
		t.Errorf("before %v, after %v", rows, rowsAfter)
	}
	if filesAfter >= files || groupsAfter >= groups || groupsAfter == 0 {
		t.Errorf("of %d files and %d row groups before, of %d and %d after", files, groups, filesAfter, groupsAfter)
	}
}

// partsRead asks for an order, and counts the files and the row groups of which
// DuckDB has read something meanwhile.
func partsRead(tb testing.TB, dir, order string) (rows []string, files, groups int) {
	tb.Helper()
	l := openLake(tb, dir)
	l.exec(tb, "SET enable_external_file_cache = false")
	glob := quoted(filepath.Join(dir, "**", "*.parquet"))
	l.exec(tb, "CREATE TABLE row_groups AS "+strings.Replace(fmt.Sprintf(groupsQuery, glob), "row_group_id AS id", "file_name, row_group_id AS id", 1))
	l.exec(tb, "CALL enable_logging('FileSystem')")
	rows = l.ask(tb, "SELECT sequence, version, orders_price FROM events WHERE order_sn = "+quoted(order))
	l.exec(tb, "CALL disable_logging()")
	reads := "SELECT path, pos::BIGINT AS pos, bytes::BIGINT AS bytes FROM duckdb_logs_parsed('FileSystem') WHERE op = 'READ'"
	files = len(l.ask(tb, "SELECT DISTINCT path FROM ("+reads+")"))
	groups = len(l.ask(tb, "SELECT DISTINCT path, id FROM row_groups JOIN ("+reads+") ON path = file_name AND pos < stop AND pos + bytes > start"))
	return rows, files, groups
}
