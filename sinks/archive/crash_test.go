package archive

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// crashLog is a log of two batches, of which one ends by size and one by Flush.
// Both have files in two accounts.
func crashLog(tb testing.TB) (log []schema.Entry, cfg Config, flush []uint64) {
	log = entries(tb, 12)
	return log, Config{RollBytes: 8 * int64(len(log[0].Raw))}, []uint64{12}
}

// changes counts what a run without a crash changes on disk, and returns what
// it leaves.
func changes(tb testing.TB, dir string) (ops []string, want map[string]string) {
	tb.Helper()
	log, cfg, flush := crashLog(tb)
	cfg.Dir = dir
	watch := &crasher{at: -1}
	if err := runUntil(tb.Context(), cfg, log, 4, flush, watch.before); err != nil {
		tb.Fatal(err)
	}
	if got, want := ranges(tb, cfg.Dir), [][2]uint64{{1, 8}, {9, 12}}; !slices.Equal(got, want) {
		tb.Fatalf("commits %v, not %v", got, want)
	}
	exactlyOnce(tb, cfg.Dir, log)
	return watch.ops, tree(tb, cfg.Dir)
}

// Whatever change on disk is the last before a crash, a restart shows only what
// was committed, and the replay gives the very bytes of a run without a crash.
func TestCrashAtEveryStep(t *testing.T) {
	t.Parallel()
	onPlaces(t, crashAtEveryStep)
}

// leftOut leaves out three steps of four in a short run, such as that with the race
// detector, which makes them long.
func leftOut(step int) bool { return testing.Short() && step%4 != 0 }

func crashAtEveryStep(t *testing.T, fresh func(testing.TB) string) {
	ops, want := changes(t, fresh(t))
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
				log, cfg, flush := crashLog(t)
				cfg.Dir = fresh(t)
				crash := &crasher{at: i, torn: torn}
				if err := runUntil(t.Context(), cfg, log, 4, flush, crash.before); !errors.Is(err, errCrash) {
					t.Fatalf("crashed at %s: %v", op, err)
				}
				recovers(t, cfg, log, flush, want)
			})
		}
	}
}

// A second crash may come while the first is being repaired.
func TestCrashDuringRecovery(t *testing.T) {
	t.Parallel()
	onPlaces(t, crashDuringRecovery)
}

func crashDuringRecovery(t *testing.T, fresh func(testing.TB) string) {
	ops, want := changes(t, fresh(t))
	for i := 1; i < len(ops); i += 9 {
		for j := 0; j < 12; j += 4 {
			if leftOut(i/9 + j/4) {
				continue
			}
			t.Run(fmt.Sprintf("%03d then %03d", i, j), func(t *testing.T) {
				t.Parallel()
				log, cfg, flush := crashLog(t)
				cfg.Dir = fresh(t)
				for _, at := range []int{i, j} {
					crash := &crasher{at: at}
					if err := runUntil(t.Context(), cfg, log, 4, flush, crash.before); err != nil && !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
				}
				recovers(t, cfg, log, flush, want)
			})
		}
	}
}

// recovers opens a crashed archive, looks at what readers see, and replays. want
// is what a run without a crash leaves.
func recovers(t *testing.T, cfg Config, log []schema.Entry, flush []uint64, want map[string]string) {
	t.Helper()
	a, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	// On S3 the files of an intent stay, to be written again as they are.
	if a, b := named(t, cfg.Dir), visible(t, cfg.Dir); !slices.Equal(a, b) && !isS3(cfg.Dir) {
		t.Errorf("after the restart the manifest names %v, readers see %v", a, b)
	}
	for name, content := range tree(t, cfg.Dir) {
		if !strings.HasPrefix(name, ownDir+"/intent") && content != want[name] {
			t.Errorf("after the restart %s is not what a run without a crash leaves", name)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := runUntil(t.Context(), cfg, log, 4, flush, nil); err != nil {
		t.Fatal(err)
	}
	sameTree(t, want, tree(t, cfg.Dir))
}

// What a rename or a link makes visible is durable before, and what the next
// step relies on is durable before it.
func TestDurableBeforeVisible(t *testing.T) {
	t.Parallel()
	ops, _ := changes(t, t.TempDir())
	at := func(from int, prefix, suffix string) int {
		for i := from; i < len(ops); i++ {
			if strings.HasPrefix(ops[i], prefix) && strings.HasSuffix(filepath.ToSlash(ops[i]), suffix) {
				return i
			}
		}
		t.Fatalf("no %s …%s behind step %d of %v", prefix, suffix, from, ops)
		return 0
	}
	steps := [][2]string{
		{"sync", "-00000000000000000008.json.tmp"}, {"rename", "-00000000000000000008.json"}, {"sync folder", intentDir},
		{"sync", "/0.tmp"}, {"sync", "/1.tmp"}, {"rename", "8.parquet"}, {"rename", "8.parquet"},
		{"sync folder", "event_date=2026-11-01"}, {"sync folder", "event_date=2026-11-01"},
		{"sync", "1.json.tmp"}, {"link", "1.json"}, {"sync folder", manifestDir}, {"remove", "-00000000000000000008.json"},
	}
	last := -1
	for _, step := range steps {
		last = at(last+1, step[0]+" ", step[1])
	}
}

// An error of the disk is not the end of the process: the commit is taken back
// at once, and the next attempt gives the same files.
func TestErrorAtEveryStep(t *testing.T) {
	t.Parallel()
	onPlaces(t, errorAtEveryStep)
}

func errorAtEveryStep(t *testing.T, fresh func(testing.TB) string) {
	ops, want := changes(t, fresh(t))
	opening := 0 // steps that Open takes
	for i, op := range ops {
		if strings.Contains(op, "archive.json") {
			opening = i + 1
		}
	}
	for i := opening; i < len(ops); i++ {
		if leftOut(i) {
			continue
		}
		t.Run(fmt.Sprintf("%03d %s", i, strings.Fields(ops[i])[0]), func(t *testing.T) {
			t.Parallel()
			log, cfg, flush := crashLog(t)
			cfg.Dir = fresh(t)
			n := 0
			full := func(string, string) error {
				if n++; n == i+1 {
					return syscall.ENOSPC
				}
				return nil
			}
			at, err := openAt(t.Context(), cfg.Dir, full)
			if err != nil {
				t.Fatal(err)
			}
			a, err := openPlace(t.Context(), cfg, at)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = a.Close() })
			failures := 0
			for failures < 2 {
				err := follow(t, a, log, flush)
				if err == nil {
					break
				}
				failures++
				var storage *StorageError
				if !errors.As(err, &storage) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") {
					t.Errorf("error %v", err)
				}
				if err := a.Write(t.Context(), log); !errors.Is(err, ErrPosition) {
					t.Errorf("Write behind a failure: %v", err)
				}
				if a, b := named(t, cfg.Dir), visible(t, cfg.Dir); !slices.Equal(a, b) && !isS3(cfg.Dir) {
					t.Errorf("behind a failure the manifest names %v, readers see %v", a, b)
				}
			}
			if failures != 1 {
				t.Errorf("%d failures", failures)
			}
			sameTree(t, want, tree(t, cfg.Dir))
		})
	}
}

// follow writes a log from the archive's position.
func follow(t *testing.T, a *Archive, log []schema.Entry, flush []uint64) error {
	position, err := a.Position(t.Context())
	if err != nil {
		return err
	}
	for part := range slices.Chunk(behind(log, position), 4) {
		if err := a.Write(t.Context(), part); err != nil {
			return err
		}
		if slices.Contains(flush, part[len(part)-1].Sequence) {
			if err := a.Flush(t.Context()); err != nil {
				return err
			}
		}
	}
	return a.Flush(t.Context())
}
