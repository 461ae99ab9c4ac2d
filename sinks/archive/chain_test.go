package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// chain makes an archive of three commits.
func chain(t *testing.T, dir string) string {
	t.Helper()
	if err := runUntil(t.Context(), Config{Dir: dir}, entries(t, 9), 3, []uint64{3, 6}, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestManifest(t *testing.T) {
	t.Parallel()
	dir := chain(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(dir, manifestDir, ".DS_Store"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := commits(t, dir)
	if len(all) != 3 || all[0].Previous != "" || all[2].Previous != all[1].SHA256 || all[2].Number != 3 {
		t.Fatalf("commits %+v", all)
	}
	var want Totals
	for _, c := range all {
		for _, f := range c.Files {
			info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
			if err != nil || info.Size() != f.Bytes {
				t.Errorf("%s: %v, %v", f.Path, info, err)
			}
			want = want.plus([]File{f})
		}
	}
	if all[2].Totals != want || want.Rows != 9 || want.Files != 6 {
		t.Errorf("totals %+v, not %+v", all[2].Totals, want)
	}
}

func TestManifestFrom(t *testing.T) {
	t.Parallel()
	dir := chain(t, t.TempDir())
	all := commits(t, dir)
	for number := uint64(1); number <= 5; number++ {
		some, err := ReadManifestFrom(t.Context(), dir, number)
		want := all[min(number-1, 3):]
		if err != nil || len(some) != len(want) || len(want) > 0 && !reflect.DeepEqual(some, want) {
			t.Errorf("from %d: %d of %d entries, %v", number, len(some), len(want), err)
		}
	}
	// An entry that does not follow is noticed unless it is the first one read.
	third := filepath.Join(dir, filepath.FromSlash(manifestName(3)))
	c := all[2]
	c.Previous = all[0].SHA256
	document, err := c.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(third, document, 0o600); err != nil {
		t.Fatal(err)
	}
	var fault *ManifestError
	if _, err := ReadManifestFrom(t.Context(), dir, 2); !errors.As(err, &fault) || fault.Path != third {
		t.Errorf("got %v", err)
	}
	if some, err := ReadManifestFrom(t.Context(), dir, 3); err != nil || len(some) != 1 {
		t.Errorf("got %v, %v", some, err)
	}
}

func TestFaultsOfTheManifest(t *testing.T) {
	t.Parallel()
	onPlaces(t, faultsOfTheManifest)
}

func faultsOfTheManifest(t *testing.T, fresh func(testing.TB) string) {
	entry := func(n uint64) string { return filepath.FromSlash(manifestName(n)) }
	tests := []struct {
		name   string
		damage func(dir string) error
		want   string // in the message
		opens  bool   // the fault is not at the end, where Open looks
	}{
		{"missing entry", func(dir string) error { return os.Remove(filepath.Join(dir, entry(2))) }, "stands where 00000000000000000002.json should be", false},
		{"missing first entry", func(dir string) error { return os.Remove(filepath.Join(dir, entry(1))) }, "stands where 00000000000000000001.json should be", false},
		{"missing last entry", func(dir string) error { return os.Remove(filepath.Join(dir, entry(3))) }, "the manifest ends at 6", false},
		{"foreign file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestDir, "notes.txt"), nil, 0o600)
		}, "stands where 00000000000000000004.json should be", false},
		{"changed first entry", change(entry(1), `"rows":2`, `"rows":3`), "has been changed", true},
		{"changed last entry", change(entry(3), `"last":9`, `"last":8`), "has been changed", false},
		{"changed hash", change(entry(3), `{"sha256":"`, `{"sha256":"0`), "has been changed", false},
		{"added blank", change(entry(3), `{"sha256":`, `{ "sha256":`), "has been changed", false},
		{"torn", change(entry(3), `}}`, ``), "is no manifest entry", false},
		{"replaced", func(dir string) error {
			return forge(dir, 2, func(c *Commit) { c.Files[0].SHA256 = strings.Repeat("0", 64) })
		}, "does not follow entry 2", false},
		{"overlap", func(dir string) error { return forge(dir, 3, func(c *Commit) { c.First = 6 }) }, "covers sequences 6 to 9 behind 6", false},
		{"wrong totals", func(dir string) error { return forge(dir, 3, func(c *Commit) { c.Totals.Rows++ }) }, "has wrong totals", false},
		{"wrong number", func(dir string) error { return forge(dir, 3, func(c *Commit) { c.Number = 7 }) }, "is entry 7, and entry 3 is due", false},
		{"file beyond the range", func(dir string) error { return forge(dir, 3, func(c *Commit) { c.Files[0].Last = 10 }) }, "has a file beyond its range", false},
		{"newer format", func(dir string) error { return forge(dir, 3, func(c *Commit) { c.Format = newestFormat + 1 }) }, "has format 3", false},
		{"intent out of turn", func(dir string) error {
			return writeIntent(dir, `{"number":9}`)
		}, "is about commit 9, and the last commit is 3", false},
		{"intent of another chain", func(dir string) error {
			return writeIntent(dir, `{"number":4,"previous":"ab"}`)
		}, "is about commit 4", false},
		{"unreadable intent", func(dir string) error {
			return writeIntent(dir, `{"number"`)
		}, "is no intent", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := chain(t, fresh(t))
			damaged(t, dir, tt.damage)
			if tt.opens {
				_, err := ReadManifest(t.Context(), dir)
				isManifestError(t, err, tt.want)
				return
			}
			before := tree(t, dir)
			_, err := Open(t.Context(), Config{Dir: dir})
			isManifestError(t, err, tt.want)
			sameTree(t, before, tree(t, dir))
			if isS3(dir) { // which has no lock
				return
			}
			if a, err := (&folder{root: dir}).lock(lockName); err != nil {
				t.Errorf("the lock is still held: %v", err)
			} else {
				_ = a.Close()
			}
		})
	}
}

func isManifestError(t *testing.T, err error, want string) {
	t.Helper()
	var fault *ManifestError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, not …%s…", err, want)
	}
}

// change replaces a text in a file of the archive.
func change(name, from, to string) func(dir string) error {
	return func(dir string) error {
		name := filepath.Join(dir, name)
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(content, []byte(from)) {
			return errors.New("nothing to damage")
		}
		return os.WriteFile(name, bytes.Replace(content, []byte(from), []byte(to), 1), 0o600)
	}
}

// forge replaces an entry by one that is right in itself.
func forge(dir string, number uint64, change func(*Commit)) error {
	f := &folder{root: dir}
	c, err := readCommit(context.Background(), f, number)
	if err != nil {
		return err
	}
	change(&c)
	document, err := c.encode()
	if err != nil {
		return err
	}
	return os.WriteFile(f.path(manifestName(number)), document, 0o600)
}

func TestReadersOfNothing(t *testing.T) {
	t.Parallel()
	_, err := ReadManifest(t.Context(), t.TempDir())
	if !errors.Is(err, ErrNoArchive) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is the address right") {
		t.Errorf("error %v", err)
	}
	for row, err := range Rows(t.Context(), t.TempDir()) {
		if !errors.Is(err, ErrNoArchive) {
			t.Errorf("row %v, error %v", row, err)
		}
	}
	for _, err := range ReadFile(t.Context(), filepath.Join(t.TempDir(), "none.parquet")) {
		var storage *StorageError
		if !errors.As(err, &storage) {
			t.Errorf("error %v", err)
		}
	}
	dir := t.TempDir()
	open(t, Config{Dir: dir})
	if got := commits(t, dir); len(got) != 0 {
		t.Errorf("an empty archive has %v", got)
	}
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	dir := archived(t, entries(t, 50))
	name := filepath.Join(dir, filepath.FromSlash(visible(t, dir)[0]))
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)/2] },
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { return append(bytes.Repeat([]byte{0xff}, len(b)/2), b[len(b)/2:]...) },
	} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		damaged := filepath.Join(t.TempDir(), "damaged.parquet")
		if err := os.WriteFile(damaged, damage(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, last = range ReadFile(t.Context(), damaged) {
		}
		isManifestError(t, last, "damaged.parquet: is")
	}
}
