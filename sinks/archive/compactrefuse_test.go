package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

func contains(err error, part string) bool { return err != nil && strings.Contains(err.Error(), part) }

const second2 = "account=second/event_date=2026-11-01/00000000000000000004-00000000000000000006.parquet"

// A file that is not as it was written is never merged: its partition stays as it
// is, and what was done before stays done.
func TestCompactRefuses(t *testing.T) {
	t.Parallel()
	onPlaces(t, compactRefuses)
}

func compactRefuses(t *testing.T, fresh func(testing.TB) string) {
	isManifest := func(err error) bool { var e *ManifestError; return errors.As(err, &e) }
	for _, tt := range []struct {
		name   string
		damage func(dir string) error
		want   string
		is     func(error) bool
	}{
		{"a changed byte", flip(second2), "has been changed: its hash is another", isManifest},
		{"a missing file", func(dir string) error { return os.Remove(filepath.Join(dir, second2)) }, "cannot read", func(err error) bool {
			var e *StorageError
			return errors.As(err, &e) && errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrReplaced)
		}},
		{"a newer schema", func(dir string) error { return ofSchema(dir, second2, "99") }, "written with version 99 of the schema", func(err error) bool {
			var e *SchemaError
			return errors.As(err, &e) && e.Version == 99
		}},
		{"no schema", func(dir string) error { return ofSchema(dir, second2, "?") }, "does not say which version", isManifest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := chain(t, fresh(t))
			damaged(t, dir, tt.damage)
			before := tree(t, dir)
			done, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later})
			if !tt.is(err) || !contains(err, tt.want) || !contains(err, "compaction of account=second/event_date=2026-11-01: ") || !contains(err, second2) {
				t.Fatalf("error %v", err)
			}
			if done.Partitions != 1 || done.FilesBefore != 3 {
				t.Errorf("done %+v", done)
			}
			after := tree(t, dir)
			for name, content := range before {
				if !strings.Contains(name, "account=main") && after[name] != content {
					t.Errorf("%s is another now", name)
				}
			}
			if len(after) != len(before)-1 { // three files in one, and an entry
				t.Errorf("%d files, and %d before", len(after), len(before))
			}
			tidy(t, dir)
		})
	}
}

// ofSchema rewrites a file of the last but one batch as another version's, and the
// manifest with it.
func ofSchema(dir, name, version string) error {
	at := filepath.Join(dir, filepath.FromSlash(name))
	rows, err := parquet.ReadFile[Row](at)
	if err != nil {
		return err
	}
	if err := parquet.WriteFile(at, rows, parquet.KeyValueMetadata(metaSchema, version)); err != nil {
		return err
	}
	content, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	return rechain(dir, 2, func(c *Commit) {
		c.Files[1].Bytes, c.Files[1].SHA256 = int64(len(content)), hashOf(content)
	})
}
