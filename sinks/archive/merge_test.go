package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

// Random events, written in random batches and merged file by file, give the very
// file that one batch of them gives.
func TestMergeProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log := make([]schema.Entry, rapid.IntRange(1, 24).Draw(rt, "events"))
		for i := range log {
			log[i] = entry(rt, uint64(3*i+1), drawEvent(rt, i%25))
		}
		many, one := t.TempDir(), t.TempDir()
		small := batches(t, rt, many, log, rapid.IntRange(1, 8).Draw(rt, "batch"))
		whole := batches(t, rt, one, log, len(log))
		sameAsOneBatch(t, rt, many, one, small, whole, rapid.IntRange(2, 5).Draw(rt, "open"))
	})
}

// batches writes the files of batches of so many events each, without a commit.
func batches(t *testing.T, tb failer, dir string, log []schema.Entry, size int) []File {
	tb.Helper()
	x, err := newEncoder(DefaultZstdLevel)
	if err != nil {
		tb.Fatal(err)
	}
	var files []File
	b := newBuffer()
	for batch := range slices.Chunk(log, size) {
		b.reset()
		for i := range batch {
			b.add(&batch[i])
		}
		b.sortParts()
		for _, p := range b.parts {
			var out bytes.Buffer
			if err := x.encode(t.Context(), &out, b, p.rows); err != nil {
				tb.Fatal(err)
			}
			first, last := b.extent(p.rows)
			sum := sha256.Sum256(out.Bytes())
			f := File{
				Path: p.fileName(b.firstSeq, b.lastSeq), First: first, Last: last, Rows: int64(len(p.rows)),
				Bytes: int64(out.Len()), SHA256: hex.EncodeToString(sum[:]), Sums: b.sums(p.rows),
			}
			name := filepath.Join(dir, filepath.FromSlash(f.Path))
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, out.Bytes(), 0o600)); err != nil {
				tb.Fatal(err)
			}
			files = append(files, f)
		}
	}
	return files
}

// The same over several row groups.
func TestMergeOfRowGroups(t *testing.T) {
	t.Parallel()
	log := busyLog(rowGroupRows + 5000)
	many, one := t.TempDir(), t.TempDir()
	archiveIn(t, many, log, 12000)
	archiveIn(t, one, log, len(log))
	sameAsOneBatch(t, t, many, one, Live(commits(t, many)), Live(commits(t, one)), 4)
}

// archiveIn writes a log into a new archive in batches of so many events.
func archiveIn(tb testing.TB, dir string, log []schema.Entry, batch int) {
	tb.Helper()
	a, err := Open(tb.Context(), Config{Dir: dir, RollEvery: 24 * time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	for part := range slices.Chunk(log, batch) {
		write(tb, a, part)
	}
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
}

// sameAsOneBatch merges the files of each partition and compares with those of an
// archive that has one for each.
func sameAsOneBatch(t *testing.T, tb failer, many, one string, files, wanted []File, open int) {
	tb.Helper()
	temporary := t.TempDir()
	byDir := map[string][]File{}
	for _, f := range files {
		dir := filepath.Dir(f.Path)
		byDir[dir] = append(byDir[dir], f)
	}
	if len(wanted) != len(byDir) {
		tb.Fatal("partitions differ")
	}
	for _, want := range wanted {
		parts := byDir[filepath.Dir(want.Path)]
		m := &merger{dir: temporary, open: open}
		content, got, err := mergeFiles(tb.Context(), m, many, parts)
		if err != nil {
			tb.Fatal(err)
		}
		got.Path = want.Path
		if a, b := asJSON(tb, want), asJSON(tb, got); a != b {
			tb.Errorf("one batch: %s\nmerged:    %s", a, b)
		}
		whole, err := os.ReadFile(filepath.Join(one, filepath.FromSlash(want.Path)))
		if err != nil {
			tb.Fatal(err)
		}
		if !bytes.Equal(whole, content) {
			tb.Errorf("%s differs from %d files merged", want.Path, len(parts))
		}
	}
	if left := namesIn(t, temporary); len(left) > 0 {
		tb.Errorf("temporary files are left: %v", left)
	}
}

// mergeFiles merges files of an archive into one.
func mergeFiles(ctx context.Context, m *merger, dir string, files []File) ([]byte, File, error) {
	var sources []iter.Seq2[Row, error]
	for _, f := range files {
		sources = append(sources, sourceRows(ctx, &folder{root: dir}, &f))
	}
	var out bytes.Buffer
	w, err := newFileWriter(DefaultZstdLevel)
	if err != nil {
		return nil, File{}, err
	}
	if err := w.begin(&out, firstOf(files), lastOf(files)); err != nil {
		return nil, File{}, err
	}
	for row, err := range m.rows(ctx, sources) {
		if err == nil {
			err = w.add(ctx, &row)
		}
		if err != nil {
			return nil, File{}, err
		}
	}
	f, err := w.end(ctx)
	return out.Bytes(), f, err
}

// namesIn lists a folder.
func namesIn(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sequence is a source of rows of one order each.
func sequence(numbers ...int64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, n := range numbers {
			if !yield(Row{OrderSn: fmt.Sprintf("%06d", n), Sequence: n}, nil) {
				return
			}
		}
	}
}

func failing(rows iter.Seq2[Row, error], err error) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if !yield(row, err) {
				return
			}
		}
		yield(Row{}, err)
	}
}

// Whatever ends a merge, no temporary file is left.
func TestMergeEnds(t *testing.T) {
	t.Parallel()
	const sources = 40
	errSource := errors.New("the source fails")
	fresh := func() []iter.Seq2[Row, error] {
		var all []iter.Seq2[Row, error]
		for i := range int64(sources) {
			all = append(all, sequence(i, i+sources, i+2*sources))
		}
		return all
	}
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		for open := 2; open <= sources+1; open++ {
			m, n := &merger{dir: t.TempDir(), open: open}, int64(0)
			for row, err := range m.rows(t.Context(), fresh()) {
				if err != nil || row.Sequence != n {
					t.Fatalf("row %d, not %d: %v", row.Sequence, n, err)
				}
				if left := namesIn(t, m.dir); n == 0 && len(left) > open {
					t.Errorf("%d files are there that have been read", len(left)-open)
				}
				n++
			}
			if left := namesIn(t, m.dir); n != 3*sources || len(left) > 0 {
				t.Errorf("%d rows; left behind %v", n, left)
			}
		}
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		m, n := &merger{dir: t.TempDir(), open: 3}, 0
		for range m.rows(t.Context(), fresh()) {
			if n == 0 && len(namesIn(t, m.dir)) == 0 {
				t.Error("nothing was spilled")
			}
			if n++; n == 50 {
				break
			}
		}
		if left := namesIn(t, m.dir); len(left) > 0 {
			t.Errorf("left behind %v", left)
		}
	})
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		for bad := range sources {
			all := fresh()
			all[bad] = failing(all[bad], errSource)
			m := &merger{dir: t.TempDir(), open: 30} // sources 0 to 10 pass through a file
			ended := false
			for _, err := range m.rows(t.Context(), all) {
				if ended || err != nil && !errors.Is(err, errSource) {
					t.Errorf("source %d: error %v; ended before: %t", bad, err, ended)
				}
				ended = err != nil
			}
			if !ended {
				t.Errorf("source %d: no error", bad)
			}
			if left := namesIn(t, m.dir); len(left) > 0 {
				t.Errorf("source %d: left behind %v", bad, left)
			}
		}
	})
	t.Run("out of order", func(t *testing.T) {
		t.Parallel()
		m := &merger{dir: t.TempDir(), open: 2}
		err := drain(m.rows(t.Context(), []iter.Seq2[Row, error]{sequence(1, 2), sequence(5, 3), sequence(4)}))
		if err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no folder", func(t *testing.T) {
		t.Parallel()
		m := &merger{dir: filepath.Join(t.TempDir(), "none"), open: 3}
		var storage *StorageError
		if err := drain(m.rows(t.Context(), fresh())); !errors.As(err, &storage) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		m := &merger{dir: t.TempDir(), open: 3}
		if err := drain(m.rows(ctx, fresh())); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if left := namesIn(t, m.dir); len(left) > 0 {
			t.Errorf("left behind %v", left)
		}
	})
}

// drain returns the error that ends some rows.
func drain(rows iter.Seq2[Row, error]) error {
	for _, err := range rows {
		if err != nil {
			return err
		}
	}
	return nil
}

// A source is closed when it has ended, and no more are open than there may be.
func TestMergeOpensFewSources(t *testing.T) {
	t.Parallel()
	const most = 4
	open, started := 0, 0
	var sources []iter.Seq2[Row, error]
	for i := range int64(50) {
		sources = append(sources, func(yield func(Row, error) bool) {
			open++
			started++
			defer func() { open-- }()
			if open > most {
				t.Errorf("%d sources are open", open)
			}
			sequence(i, i+50)(yield)
		})
	}
	if err := drain((&merger{dir: t.TempDir(), open: most}).rows(t.Context(), sources)); err != nil || open != 0 || started != 50 {
		t.Errorf("%d open, %d started, %v", open, started, err)
	}
}
