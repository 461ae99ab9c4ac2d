package iceberg

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/sinks/archive"
)

// newer is a row of a later version of the archive, with two more columns.
type newer struct {
	archive.Row
	ShopID *string `parquet:"shop_id"`
	Visits int64   `parquet:"visits"`
}

// rewrite puts a later version's file into the place of one.
func rewrite(t *testing.T, dir string, file archive.File) archive.File {
	t.Helper()
	path := filepath.Join(dir, file.Path)
	rows, err := parquet.ReadFile[archive.Row](path)
	if err != nil {
		t.Fatal(err)
	}
	more := make([]newer, len(rows))
	for i, row := range rows {
		more[i] = newer{Row: row, Visits: int64(i)}
	}
	if err := parquet.WriteFile(path, more); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	file.Bytes = info.Size()
	return file
}

func TestNewColumnsAreAdded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archived(t, dir, 20, 40, 60)
	want := held(t.Context(), t, dir)
	all := manifest(t, dir)
	for i, f := range all[1].Files {
		all[1].Files[i] = rewrite(t, dir, f)
	}
	f := newFollower(t, configure(t, dir))
	if err := f.connected(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tbl *table.Table
	var fields []string
	for i := range all {
		before := tbl
		if done, err := f.takeOver(t.Context(), tbl, all[i:i+1]); !done || err != nil {
			t.Fatal(done, err)
		}
		tbl = open(t, f)
		for n := 0; before != nil && n < before.Schema().NumFields(); n++ {
			if was, is := before.Schema().Field(n), tbl.Schema().Field(n); !was.Equals(is) {
				t.Errorf("column %v became %v", was, is)
			}
		}
		fields = nil
		for _, column := range tbl.Schema().Fields()[32:] {
			fields = append(fields, column.Name)
		}
		if wants := []string{"account", "shop_id", "visits"}[:min(1+2*i, 3)]; !slices.Equal(fields, wants) {
			t.Errorf("after entry %d the last columns are %v", i+1, fields)
		}
		if tbl.NameMapping().String() != tbl.Schema().NameMapping().String() {
			t.Errorf("after entry %d the mapping of names is %v", i+1, tbl.NameMapping())
		}
	}
	if got := scan(t, tbl); !got.equal(want) {
		t.Errorf("%d rows with %v, not %d with %v", len(got.sequences), got.sums, len(want.sequences), want.sums)
	}
	if n := len(tbl.Schemas()); n != 2 {
		t.Errorf("%d schemas", n)
	}
}

func TestOldSnapshotsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFollower(t, configure(t, dir))
	f.keep, f.slack = 4, 2
	a := openArchive(t, dir, nil)
	most := 0
	for i := range uint64(12) {
		commit(t, a, 3*i+1, 3*i+3)
		follow(t, f)
		n := len(snapshots(sameAs(t, f, dir)))
		if most = max(most, n); n > 6 {
			t.Fatalf("%d snapshots after %d commits", n, i+1)
		}
	}
	tbl := open(t, f)
	if n := len(snapshots(tbl)); most != 6 || n != 6 {
		t.Errorf("%d snapshots at the most, %d now", most, n)
	}
	// What the metadata names is there, and nothing else is.
	files, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named, err := namedBy(files, snapshots(tbl))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, warehouseDir, "orderwire", "events", "metadata", "*.avro"))
	if err != nil || len(found) != len(named) || len(found) == 0 {
		t.Errorf("%d manifests, %d are named, %v", len(found), len(named), err)
	}
	if tbl.Properties()[table.GCEnabledKey] != "false" {
		t.Errorf("properties %v: other engines could remove the archive's files", tbl.Properties())
	}
}
