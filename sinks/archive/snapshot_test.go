package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

// Of random logs and limits, the set holds the last event of each order within the
// limits, as it was, in files in order.
func TestSnapshotProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		log := drawLog(rt)
		dir := t.TempDir()
		archiveIn(t, dir, log, max(1, len(log)/rapid.IntRange(1, 3).Draw(rt, "commits")))
		cfg := SnapshotConfig{Dir: dir, To: t.TempDir(), FileRows: rapid.Int64Range(1, 4).Draw(rt, "rows of a file")}
		switch limit := rapid.IntRange(0, 2).Draw(rt, "limit"); {
		case len(log) == 0:
		case limit == 1:
			cfg.Sequence = rapid.Uint64Range(1, log[len(log)-1].Sequence).Draw(rt, "sequence")
		case limit == 2:
			cfg.At = rapid.SampledFrom(log).Draw(rt, "event").Stored.Add(time.Duration(rapid.IntRange(-1, 1).Draw(rt, "beside")) * time.Microsecond)
		}
		if len(log) > 0 && rapid.Bool().Draw(rt, "one account") {
			cfg.Account = log[0].Event.Data.Account
		}
		report, err := Snapshot(t.Context(), cfg)
		if err != nil {
			rt.Fatal(err)
		}
		holdsStates(rt, cfg, report, log)
	})
}

// expected returns the last event of each order within the limits.
func expected(cfg SnapshotConfig, log []schema.Entry) map[schema.OrderKey]*schema.Entry {
	last := map[schema.OrderKey]*schema.Entry{}
	for i := range log {
		e := &log[i]
		if cfg.Sequence != 0 && e.Sequence > cfg.Sequence || !cfg.At.IsZero() && e.Stored.After(cfg.At) ||
			cfg.Account != "" && e.Event.Data.Account != cfg.Account {
			continue
		}
		last[e.Event.Key()] = e
	}
	return last
}

// holdsStates fails unless a set is what its report says and what the log says.
func holdsStates(tb failer, cfg SnapshotConfig, report *SnapshotReport, log []schema.Entry) {
	tb.Helper()
	want := expected(cfg, log)
	content := tree(tb, cfg.To)
	var described SnapshotReport
	if err := json.Unmarshal([]byte(content[descriptorName]), &described); err != nil {
		tb.Fatal(err)
	}
	if a, b := asJSON(tb, report), asJSON(tb, described); a != b {
		tb.Errorf("the report is %s\nthe descriptor %s", a, b)
	}
	paths := []string{}
	for _, f := range report.Files {
		paths = append(paths, f.Path)
	}
	if seen := visible(tb, cfg.To); !slices.Equal(seen, paths) && len(seen)+len(paths) > 0 {
		tb.Errorf("readers see %v, the report names %v", seen, paths)
	}
	var before *Row
	var vanished, newest int64
	counted := newTally()
	for _, f := range report.Files {
		inFile := newTally()
		for r, err := range ReadFile(tb.Context(), address(tb, cfg.To, f.Path)) {
			if err != nil {
				tb.Fatal(err)
			}
			counted.add(&r)
			inFile.add(&r)
			if before != nil && before.Account == r.Account && compareRows(before, &r) >= 0 {
				tb.Errorf("sequence %d behind %d", r.Sequence, before.Sequence)
			}
			before = &r
			e, err := r.Event()
			if err != nil {
				tb.Fatal(err)
			}
			if want[e.Key()] == nil {
				tb.Errorf("sequence %d is of an order that is doubled or beyond the limits", r.Sequence)
				continue
			}
			sameEvent(tb, want[e.Key()], &r)
			delete(want, e.Key())
			newest = max(newest, r.Sequence)
			if e.Type == schema.OrderVanished {
				vanished++
			}
		}
		if inFile.rows != f.Rows || inFile.first != f.First || inFile.last != f.Last || inFile.sums().differ(f.Sums) != "" ||
			f.Bytes != int64(len(content[f.Path])) || cfg.FileRows > 0 && f.Rows > cfg.FileRows {
			tb.Errorf("file %s holds %d rows, the report says %s", f.Path, inFile.rows, asJSON(tb, f))
		}
	}
	for key := range want {
		tb.Errorf("order %s is missing", key)
	}
	if report.Orders != counted.rows || report.Vanished != vanished || report.Last != uint64(newest) {
		tb.Errorf("%d orders, %d vanished, up to %d; the report says %s", counted.rows, vanished, newest, asJSON(tb, report))
	}
}

// address returns that of a file at a place.
func address(tb failer, dir, name string) string {
	if isS3(dir) {
		return testBucket(tb, dir).path(name)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// An order with an empty program is the same as one with none, though their rows
// stand at the two ends of a file.
func TestSnapshotOfOrdersWithoutProgram(t *testing.T) {
	t.Parallel()
	programs := []schema.Text{{}, schema.NewText(""), schema.NewText("7")}
	var log []schema.Entry
	for n := range 60 {
		e := event("main", n%20, uint64(n/20+1))
		e.Data.Order.ProgramID = programs[(n%20*7+n/20*5)%3]
		log = append(log, entry(t, uint64(n+1), schema.NewEvent(e.Type, e.Data)))
	}
	dir := t.TempDir()
	archiveIn(t, dir, log, 25)
	for _, last := range []uint64{20, 33, 60} {
		cfg := SnapshotConfig{Dir: dir, To: t.TempDir(), Sequence: last}
		report, err := Snapshot(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		holdsStates(t, cfg, report, log)
	}
}

// states is a log in which every order changes twice.
func statesLog(tb testing.TB) []schema.Entry {
	tb.Helper()
	var log []schema.Entry
	for v := range 3 {
		for n := range 8 {
			log = append(log, entry(tb, uint64(len(log)+1), event([]string{"main", "second"}[n%2], n, uint64(v+1))))
		}
	}
	return log
}

// A snapshot is the same before and after a compaction.
func TestSnapshotOfACompactedArchive(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), statesLog(t)
	archiveIn(t, dir, log, 5)
	var files []string
	for i := range 2 {
		cfg := SnapshotConfig{Dir: dir, To: t.TempDir()}
		report, err := Snapshot(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		holdsStates(t, cfg, report, log)
		files = append(files, asJSON(t, report.Files))
		if i == 0 {
			done, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: func() time.Time { return epoch.AddDate(1, 0, 0) }})
			if err != nil || done.FilesAfter >= done.FilesBefore {
				t.Fatalf("%+v, %v", done, err)
			}
		}
	}
	if files[0] != files[1] {
		t.Errorf("before\n%s\nafter\n%s", files[0], files[1])
	}
}

// replacing is an archive of which a file is replaced each time the manifest has
// been read, so many times.
type replacing struct {
	store
	left   int
	opened int // since then
}

func (r *replacing) list(ctx context.Context, dir string) ([]string, error) {
	r.opened = 0
	return r.store.list(ctx, dir)
}

func (r *replacing) open(ctx context.Context, name string) (*openedFile, error) {
	if r.opened++; r.opened == 7 && r.left > 0 { // a file of the second account
		r.left--
		return nil, storageError("read", name, ErrReplaced)
	}
	return r.store.open(ctx, name)
}

// A snapshot begins again when a compaction takes its files away, but not forever.
func TestSnapshotBesideCompactions(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), statesLog(t)
	archiveIn(t, dir, log, 5)
	for times := range snapshotTries + 1 {
		cfg, err := SnapshotConfig{Dir: dir, To: t.TempDir()}.complete()
		noError(t, err)
		report, err := snapshotInto(t.Context(), cfg, &replacing{store: &folder{root: dir}, left: times}, &folder{root: cfg.To})
		if times < snapshotTries {
			noError(t, err)
			holdsStates(t, cfg, report, log)
		} else if left := tree(t, cfg.To); !errors.Is(err, ErrReplaced) || len(left) > 0 {
			t.Errorf("error %v, left behind %v", err, left)
		}
	}
}

// Whatever fails, readers see nothing of the set, and the next run can have the
// place.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir, log := t.TempDir(), statesLog(t)
		archiveIn(t, dir, log, 5)
		cfg, err := SnapshotConfig{Dir: dir}.complete()
		if err == nil {
			t.Fatal("a config without a place is complete")
		}
		attempt := func(ctx context.Context, before func(op, path string) error) error {
			to, err := openAt(ctx, cfg.To, before)
			noError(t, err)
			report, err := snapshotInto(ctx, cfg, &folder{root: dir}, to)
			if err == nil {
				holdsStates(t, cfg, report, log)
			}
			return err
		}
		cfg.Progress = func(int64, int64) {}
		for failAt, done := 0, false; !done; failAt++ {
			cfg.To = fresh(t)
			for _, cancels := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				n := 0
				err := attempt(ctx, func(op, _ string) error {
					if n++; n-1 != failAt {
						return nil
					}
					if cancels {
						cancel()
						return context.Canceled
					}
					return syscall.ENOSPC
				})
				done = n <= failAt
				if left := tree(t, cfg.To); err != nil && len(left) > 0 {
					t.Errorf("change %d: %v; left behind %v", failAt, err, visible(t, cfg.To))
				}
				cancel()
				if err == nil {
					break
				}
			}
			if done && failAt < 10 {
				t.Errorf("%d changes", failAt)
			}
		}
	})
}

// What cannot be asked is refused, and leaves nothing.
func TestSnapshotRefuses(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), statesLog(t)
	archiveIn(t, dir, log, 5)
	used := t.TempDir()
	writeFile(t, filepath.Join(used, "account=x", "there.txt"), "")
	claimed := t.TempDir()
	writeFile(t, filepath.Join(claimed, claimName), "")
	for want, cfg := range map[string]SnapshotConfig{
		"to: is missing":                                     {Dir: dir},
		"url: is missing":                                    {To: t.TempDir()},
		"at: and sequence":                                   {Dir: dir, To: t.TempDir(), At: epoch, Sequence: 1},
		"to: lies in the archive;":                           {Dir: dir, To: filepath.Join(dir, "set")},
		"to: lies in the archive":                            {Dir: dir, To: dir + "/"},
		"sequence: is 25, and the archive ends at 24":        {Dir: dir, To: t.TempDir(), Sequence: 25},
		`account: "third" is not in the archive; it holds m`: {Dir: dir, To: t.TempDir(), Account: "third"},
		"something is there already; choose a place":         {Dir: dir, To: used},
		"snapshot.lock: something is there already":          {Dir: dir, To: claimed},
		"no archive is there":                                {Dir: used, To: t.TempDir()},
		"file_rows: is negative":                             {Dir: dir, To: t.TempDir(), FileRows: -1},
		"zstd_level: is not":                                 {Dir: dir, To: t.TempDir(), ZstdLevel: 23},
	} {
		_, err := Snapshot(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, not %q", err, want)
		}
		if _, inside := strings.CutPrefix(cfg.To, dir); cfg.To != "" && !inside && len(tree(t, cfg.To)) > 1 {
			t.Errorf("%s: left behind %v", want, tree(t, cfg.To))
		}
	}
}

// An archive without events has a set without files.
func TestSnapshotOfNothing(t *testing.T) {
	t.Parallel()
	cfg := SnapshotConfig{Dir: archived(t, nil), To: filepath.Join(t.TempDir(), "a", "b")}
	report, err := Snapshot(t.Context(), cfg)
	noError(t, err)
	holdsStates(t, cfg, report, nil)
}

// The progress reaches the number of events, and the files say as of when they are.
func TestSnapshotTells(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), statesLog(t)
	archiveIn(t, dir, log, 5)
	at := log[11].Stored
	var done, total int64
	cfg := SnapshotConfig{Dir: dir, To: t.TempDir(), At: at, Progress: func(d, n int64) { done, total = d, n }}
	report, err := Snapshot(t.Context(), cfg)
	noError(t, err)
	head := commits(t, dir)[4]
	if done != 24 || total != 24 || report.Events != 24 || report.Later != 12 || report.Last != 12 || report.Sequence != 24 ||
		!report.LastStored.Equal(at) || !report.At.Equal(at) || report.Archive != (SnapshotSource{5, head.SHA256, 24}) {
		t.Errorf("%d of %d; %s", done, total, asJSON(t, report))
	}
	for _, f := range report.Files {
		file, err := (&folder{root: cfg.To}).open(t.Context(), f.Path)
		noError(t, err)
		noError(t, file.prove(t.Context(), &f))
		got := metadata(t, file)
		want := map[string]string{metaSchema: "1", metaFirst: "1", metaLast: "24", metaAsOfSequence: "24", metaAsOfTime: at.Format(time.RFC3339)}
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s is %q, not %q", key, got[key], value)
			}
		}
		noError(t, file.Close())
	}
	if !slices.IsSortedFunc(report.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) }) || len(report.Files) != 2 ||
		report.Files[0].Path != "account=main/part-00000.parquet" {
		t.Errorf("files %s", fmt.Sprint(report.Files))
	}
}
