//go:build iceberg

package main_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	icesql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite" // driver "sqlite"
)

func init() { tags = "iceberg" }

// The running pipeline keeps a table of Iceberg in step, which iceberg-go's own
// reader reads.
func TestIcebergTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 300})
	catalog := filepath.Join(w.dir, "catalog.db")
	w.replace(t, "archive: {roll_every: 1s}", "archive: {roll_every: 1s, iceberg: {catalog: 'sqlite://"+catalog+"', table: lake.orders}}")
	if out := succeed(t, "check", "-c", w.config); !strings.Contains(out, "iceberg: table lake.orders is not there yet and comes with the first commit\n") {
		t.Errorf("check says\n%s", out)
	}
	if _, err := os.Stat(catalog); err == nil {
		t.Error("check has made the catalog")
	}
	for range 2 {
		succeed(t, "run", "-c", w.config, "--once")
		w.step(t, 100)
	}
	events := w.events(t)
	if out := succeed(t, "check", "-c", w.config); !strings.Contains(out, "iceberg: table lake.orders is at commit ") || !strings.Contains(out, " of the archive, 0 behind\n") {
		t.Errorf("check says\n%s", out)
	}
	if n := scanTable(t, catalog, w.dir); n != int64(len(events)) || n < 300 {
		t.Errorf("%d rows of %d events", n, len(events))
	}
	succeed(t, "verify", "-c", w.config) // the table's own files are none of the archive's

	w.replace(t, "lake.orders", "lake.other")
	if err := os.WriteFile(catalog, []byte("no database at all, but long enough to look at"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := orderwire(t, "", "check", "-c", w.config); code != 1 || !strings.Contains(errs, "archive.iceberg: iceberg: the catalog cannot be reached") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	succeed(t, "run", "-c", w.config, "--once") // the archive goes on
}

// scanTable counts the rows of table lake.orders.
func scanTable(t *testing.T, catalog, dir string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", catalog)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	open, err := icesql.NewCatalog("orderwire", db, icesql.SQLite, nil)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := open.LoadTable(t.Context(), table.Identifier{"lake", "orders"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "file://" + filepath.Join(dir, "data", "archive"); !strings.HasPrefix(tbl.Location(), want) {
		t.Errorf("the table is at %s", tbl.Location())
	}
	_, records, err := tbl.Scan(table.WithSelectedFields("sequence")).ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for r, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		n += r.NumRows()
		r.Release()
	}
	return n
}

func TestReadmeIceberg(t *testing.T) {
	t.Parallel()
	out := shell(t, t.TempDir(), examples(t)["iceberg"])
	if !strings.Contains(out, "iceberg: table lake.orders is at commit 1 of the archive, 0 behind\n") {
		t.Errorf("got %s", out)
	}
}
