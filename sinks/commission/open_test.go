package commission

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// exec runs SQL behind the books' back.
func exec(t *testing.T, b *Books, query string) {
	t.Helper()
	if _, err := b.writer.db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// failure checks a StoreError: its kind, that it names the file, and that it
// helps.
func failure(t *testing.T, err error, kind error, where, hint string) {
	t.Helper()
	var e *StoreError
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Errorf("got %v, want a *StoreError of kind %q", err, kind)
		return
	}
	if !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), hint) {
		t.Errorf("%q or %q is missing in: %v", where, hint, err)
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	b, path := open(t)
	write(t, b, entry(5, 1, order("a")))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatalf("after the writer has ended: %v", err)
	}
	defer r.Close()
	expect(t, "reader alone", lines(t, r, Filter{}), confirmedLine)
	again, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if p := position(t, again.Reader); p != 5 {
		t.Errorf("position %d, want 5", p)
	}
	write(t, again, entry(6, 2, order("a", status("0"))))
	expect(t, "reader that was there before", lines(t, r, Filter{}), pendingLine)
}

func TestFilePath(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"commission.db": "commission.db", "./data/commission.db": "data/commission.db", "//data//c.db": "/data/c.db",
		"file:data/c.db": "data/c.db", "file:/data/c.db": "/data/c.db", "file:///data/c%20d.db": "/data/c d.db", "file://localhost/c.db": "/c.db",
		"file:c%20d.db": "c d.db",
	} {
		if got, err := filePath(dsn); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", dsn, got, err, want)
		}
	}
	for dsn, want := range map[string]string{
		"":                                 "needs a file",
		":memory:":                         "needs a file",
		"file::memory:":                    "needs a file",
		"postgres://u:sec/ret@db:secret/x": "no address of a PostgreSQL database",
		"postgresql://secret@h:port/x":     "%2F",
		"postgres://h/x?sslmode=secret":    "no address",
		"mysql://u:secret@db/orderwire":    "unknown kind of database",
		"file://secret@server/c.db":        "no URL of a file on this machine",
		"file:c.db?_pragma=secret":         "takes no parameters",
		"file:":                            "has no path",
	} {
		_, err := Open(t.Context(), dsn)
		failure(t, err, ErrDSN, "", want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

func TestUnusualFileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "a?mode=memory.db", "50%25.db", "a#b.db", "ü.db"} {
		path := filepath.Join(t.TempDir(), name)
		b, err := Open(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReaderWithoutBooks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "commission.db")
	_, err := OpenReader(t.Context(), path)
	failure(t, err, fs.ErrNotExist, path, "start that first")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the reader made the file")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = OpenReader(t.Context(), path)
	failure(t, err, ErrNotBooks, path, "start that first")
}

func TestOtherVersionsOfTheTables(t *testing.T) {
	t.Parallel()
	b, path := open(t)
	exec(t, b, "INSERT INTO "+migrationTable+" (version_id, is_applied) VALUES (99, TRUE)")
	_, err := Open(t.Context(), path)
	failure(t, err, ErrSchema, b.where, "they have version 99, this program knows 5; use the newer orderwire")
	_, err = OpenReader(t.Context(), path)
	failure(t, err, ErrSchema, b.where, "use the newer orderwire")
}

func TestFull(t *testing.T) {
	t.Parallel()
	b, path := openFile(t)
	write(t, b, entry(1, 1, order("a")))
	exec(t, b, "PRAGMA max_page_count = 1") // means: no more than now
	batch := history(400)
	err := b.Write(t.Context(), batch)
	failure(t, err, ErrFull, path, "write: no space left: database or disk is full (13); free space on that disk")
	expect(t, "when full", lines(t, b.Reader, Filter{}), confirmedLine)
	exec(t, b, "PRAGMA max_page_count = 100000")
	write(t, b, batch...)
}

func TestLocked(t *testing.T) {
	t.Parallel()
	b, path := openFile(t)
	other, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.writer.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, b, "PRAGMA busy_timeout = 20")
	failure(t, b.Write(t.Context(), []schema.Entry{entry(1, 1, order("a"))}), ErrLocked, path, "end the other process")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	write(t, b, entry(1, 1, order("a")))
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(t.Context(), dir)
	failure(t, err, ErrAccess, dir, "may write the file and its folder")

	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), text)
	failure(t, err, ErrDamaged, text, "move the file away")
	_, err = OpenReader(t.Context(), text)
	failure(t, err, ErrDamaged, text, "move the file away")

	below := filepath.Join(text, "commission.db")
	_, err = Open(t.Context(), below)
	failure(t, err, syscall.ENOTDIR, below, "choose another")
}

// Several processes may start at once on a new file.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for range 4 {
		openTogether(t, newDSN(t))
	}
}

func openTogether(t *testing.T, path string) {
	t.Helper()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			b, err := Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p := position(t, r); p != 0 {
		t.Errorf("position %d", p)
	}
}

func TestSameBooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "books.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{path, path, true}, {path, "file:" + path, true}, {path, filepath.Join(dir, "link.db"), true},
		{path, filepath.Join(dir, "other.db"), false}, {"none.db", filepath.Join(wd, "none.db"), true},
		{"none.db", "./none.db", true}, {"none.db", "other.db", false}, {path, "mysql://there", true},
		{path, "postgres://h/x", false}, {"postgres://h/x", "postgresql://u:p@h:5432/x", true}, {"postgres://h/x", "postgres://h/y", false},
		{"postgres://h/x", "postgres://h/x?search_path=s", false},
	} {
		if got := SameBooks(tt.a, tt.b); got != tt.same {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}
