package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// compactEvents is how many events a test archive has: four batches, so that each
// of its two partitions has four files.
const compactEvents = 16

// compactable makes an archive of so many entries, in batches of four.
func compactable(tb testing.TB, dir string) string {
	tb.Helper()
	a := open(tb, Config{Dir: dir})
	for part := range slices.Chunk(entries(tb, compactEvents), 4) {
		write(tb, a, part)
	}
	noError(tb, a.Close())
	return dir
}

// pairs is a configuration that merges the files of compactable by twos, and not
// those that come of it: they are larger.
func pairs(tb testing.TB, dir string, before map[string]string) CompactConfig {
	tb.Helper()
	most := 0
	for name, content := range before {
		if strings.HasSuffix(name, extension) {
			most = max(most, len(content))
		}
	}
	return CompactConfig{Dir: dir, FileBytes: 2 * int64(most), Now: later}
}

// compactAt is Compact with a hook ahead of every change, and files of any size.
func compactAt(ctx context.Context, cfg CompactConfig, before func(op, path string) error) (*Compaction, error) {
	p, err := openAt(ctx, cfg.Dir, before)
	if err != nil {
		return nil, err
	}
	size := cfg.FileBytes
	cfg.FileBytes = 0
	if cfg, err = cfg.complete(); err != nil {
		return nil, err
	}
	if size > 0 {
		cfg.FileBytes = size
	}
	return compactPlace(ctx, cfg, p)
}

// planted puts files at a place at which nothing is yet.
func planted(tb testing.TB, dir string, files map[string]string) string {
	tb.Helper()
	for name, content := range files {
		if isS3(dir) {
			noError(tb, testBucket(tb, dir).put(tb.Context(), name, []byte(content)))
		} else {
			writeFile(tb, filepath.Join(dir, filepath.FromSlash(name)), content)
		}
	}
	return dir
}

// compactChanges returns an archive before a compaction, the changes of it, and
// what it leaves.
func compactChanges(t *testing.T, fresh func(testing.TB) string) (before map[string]string, ops []string, after map[string]string) {
	t.Helper()
	dir := compactable(t, fresh(t))
	before = tree(t, dir)
	watch := &crasher{at: -1}
	done, err := compactAt(t.Context(), pairs(t, dir, before), watch.before)
	noError(t, err)
	if done.Partitions != 2 || done.FilesBefore != 8 || done.FilesAfter != 4 || done.Events != compactEvents || done.Finished != 0 {
		t.Fatalf("done %+v", done)
	}
	tidy(t, dir)
	exactlyOnce(t, dir, entries(t, compactEvents))
	return before, watch.ops, tree(t, dir)
}

// tidy fails if something is left of a compaction.
func tidy(tb failer, dir string) {
	tb.Helper()
	for name := range tree(tb, dir) {
		if strings.HasPrefix(name, stagedDir) || strings.HasSuffix(name, ".tmp") {
			tb.Errorf("%s is left", name)
		}
	}
}

// onceOrNone fails if a reader of all files gets a sequence twice.
func onceOrNone(tb testing.TB, dir string) {
	tb.Helper()
	seen, s := map[int64]string{}, must(placeAt(tb.Context(), dir))
	for _, name := range visible(tb, dir) {
		file, err := s.open(tb.Context(), name)
		noError(tb, err)
		readAll(tb.Context(), file, accountOf(name), func(row Row, err error) bool {
			noError(tb, err)
			if at := seen[row.Sequence]; at != "" {
				tb.Errorf("sequence %d stands in %s and %s", row.Sequence, at, name)
			}
			seen[row.Sequence] = name
			return true
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// readable fails unless the readers of the manifest see every event once.
func readable(tb *testing.T, dir string, log []schema.Entry) {
	tb.Helper()
	var sequences []uint64
	for _, row := range rows(tb, dir) {
		sequences = append(sequences, uint64(row.Sequence))
	}
	slices.Sort(sequences)
	var want []uint64
	for _, e := range log {
		want = append(want, e.Sequence)
	}
	if !slices.Equal(sequences, want) {
		tb.Errorf("rows of %v", sequences)
	}
	v := verify(tb, VerifyConfig{Dir: dir, Log: logOf{log: log}})
	finds(tb, v)
	if v.Compared != int64(len(log)) {
		tb.Errorf("verified %+v", v)
	}
}

// sameNames fails unless readers see the files that the manifest names.
func sameNames(tb failer, dir string) {
	tb.Helper()
	if a, b := named(tb, dir), visible(tb, dir); !slices.Equal(a, b) {
		tb.Errorf("the manifest names %v, readers see %v", a, b)
	}
}

// sameParquet fails unless two archives have the same Parquet files.
func sameParquet(tb testing.TB, want, got map[string]string) {
	tb.Helper()
	only := func(files map[string]string) map[string]string {
		files = maps.Clone(files)
		maps.DeleteFunc(files, func(name, _ string) bool { return !strings.HasSuffix(name, extension) })
		return files
	}
	sameTree(tb, only(want), only(got))
}

// Whatever change is the last before a crash of a compaction, no pattern shows an
// event twice, the manifest's readers see each once, and the next compaction as
// well as the next start of an archiver puts it right.
func TestCompactCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	onPlaces(t, compactCrashAtEveryStep)
}

func compactCrashAtEveryStep(t *testing.T, fresh func(testing.TB) string) {
	before, ops, after := compactChanges(t, fresh)
	for i, op := range ops {
		if leftOut(i) {
			continue
		}
		for _, torn := range []bool{false, true} {
			if torn && !strings.HasPrefix(op, "sync ") {
				continue
			}
			t.Run(fmt.Sprintf("%03d %s torn=%v", i, strings.Fields(op)[0], torn), func(t *testing.T) {
				t.Parallel()
				dir := planted(t, fresh(t), before)
				crash := &crasher{at: i, torn: torn}
				if _, err := compactAt(t.Context(), pairs(t, dir, before), crash.before); !errors.Is(err, errCrash) {
					t.Fatalf("crashed at %s: %v", op, err)
				}
				onceOrNone(t, dir)
				readable(t, dir, entries(t, compactEvents))
				crashed := tree(t, dir)
				putRightByArchiver(t, planted(t, fresh(t), crashed))
				putRight(t, dir, before, after)
			})
		}
	}
}

// putRight compacts again, a day later: in a bucket, what was staged and not
// recorded is an orphan then.
func putRight(t *testing.T, dir string, before, after map[string]string) {
	t.Helper()
	cfg := pairs(t, dir, before)
	cfg.Now = func() time.Time { return later().Add(orphanAfter + time.Second) }
	_, err := compactAt(t.Context(), cfg, nil)
	noError(t, err)
	tidy(t, dir)
	sameParquet(t, after, tree(t, dir))
	sameNames(t, dir)
	readable(t, dir, entries(t, compactEvents))
}

// putRightByArchiver starts an archiver, which also goes on where it was.
func putRightByArchiver(t *testing.T, dir string) {
	t.Helper()
	log := entries(t, compactEvents+1)
	a := open(t, Config{Dir: dir})
	if !isS3(dir) { // there what was not recorded stays for a day
		tidy(t, dir)
	}
	sameNames(t, dir)
	write(t, a, log[compactEvents:])
	sameNames(t, dir)
	readable(t, dir, log)
}

// A second crash may come while the first is being put right.
func TestCompactCrashTwice(t *testing.T) {
	t.Parallel()
	onPlaces(t, compactCrashTwice)
}

func compactCrashTwice(t *testing.T, fresh func(testing.TB) string) {
	before, ops, after := compactChanges(t, fresh)
	for i := 2; i < len(ops)/2; i += 9 {
		for j := 0; j < 24; j += 7 {
			if leftOut((i-2)/9 + j/7) {
				continue
			}
			t.Run(fmt.Sprintf("%03d then %03d", i, j), func(t *testing.T) {
				t.Parallel()
				dir := planted(t, fresh(t), before)
				cfg := pairs(t, dir, before)
				for _, at := range []int{i, j} {
					if _, err := compactAt(t.Context(), cfg, (&crasher{at: at}).before); !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
					onceOrNone(t, dir)
				}
				putRight(t, dir, before, after)
			})
		}
	}
}

// An error says what and where; what was done stays, and the next run does the
// rest.
func TestCompactErrorAtEveryStep(t *testing.T) {
	t.Parallel()
	onPlaces(t, compactErrorAtEveryStep)
}

func compactErrorAtEveryStep(t *testing.T, fresh func(testing.TB) string) {
	before, ops, after := compactChanges(t, fresh)
	for i, op := range ops {
		if leftOut(i) {
			continue
		}
		t.Run(fmt.Sprintf("%03d %s", i, strings.Fields(op)[0]), func(t *testing.T) {
			t.Parallel()
			dir, n := planted(t, fresh(t), before), 0
			done, err := compactAt(t.Context(), pairs(t, dir, before), func(string, string) error {
				if n++; n == i+1 {
					return syscall.ENOSPC
				}
				return nil
			})
			var storage *StorageError
			if !errors.As(err, &storage) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "compaction of account=") ||
				!strings.Contains(err.Error(), "free space there") {
				t.Fatalf("error %v", err)
			}
			if done.Partitions > i*2/len(ops) {
				t.Errorf("failed at step %d of %d, done %+v", i, len(ops), done)
			}
			onceOrNone(t, dir)
			if entries := len(commits(t, dir)) - 4; entries < done.Partitions || entries > done.Partitions+1 {
				t.Errorf("%d entries, done %+v", entries, done)
			}
			putRight(t, dir, before, after)
		})
	}
}
