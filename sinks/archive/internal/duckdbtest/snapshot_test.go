package duckdbtest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// DuckDB's own choice of the last event of each order is the snapshot, row by row
// and column by column: of all that is archived, as of a sequence and as of a time.
func TestSnapshots(t *testing.T) {
	log, dir := archivedLog(t)
	l := openLake(t, dir)
	middle := &log[len(log)/2]
	for name, limit := range map[string]struct {
		cfg   archive.SnapshotConfig
		where string
	}{
		"all":      {archive.SnapshotConfig{}, "true"},
		"sequence": {archive.SnapshotConfig{Sequence: middle.Sequence}, fmt.Sprintf("sequence <= %d", middle.Sequence)},
		"time": {archive.SnapshotConfig{At: middle.Stored.UTC()}, fmt.Sprintf("stored_at <= make_timestamptz(%d)",
			middle.Stored.UnixMicro())},
		"account": {archive.SnapshotConfig{Account: accounts[1]}, "account = " + quoted(accounts[1])},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := limit.cfg
			cfg.Dir, cfg.To, cfg.FileRows = dir, filepath.Join(t.TempDir(), "set"), 100
			report, err := archive.Snapshot(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			l.exec(t, "CREATE OR REPLACE VIEW states AS SELECT * FROM read_parquet("+
				quoted(filepath.Join(cfg.To, "**", "*.parquet"))+", hive_partitioning = true)")
			want := l.ask(t, `SELECT * EXCLUDE (event_date) FROM events WHERE `+limit.where+`
				QUALIFY row_number() OVER (PARTITION BY account, program_id, order_sn ORDER BY version DESC) = 1`)
			l.answers(t, "SELECT * FROM states", want)
			if int64(len(want)) != report.Orders || len(want) >= len(log) || len(report.Files) < len(want)/100 {
				t.Errorf("%d orders of %d events in %d files; the report says %d", len(want), len(log), len(report.Files), report.Orders)
			}
			vanished := fmt.Sprint(report.Vanished)
			l.answers(t, "SELECT count(*) FROM states WHERE event_type = "+quoted(string(schema.OrderVanished)), []string{vanished})
		})
	}
}
