package archive

import (
	"context"
	"errors"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// logOf is a log of entries that fails at its end with err, nil for no failure.
type logOf struct {
	log []schema.Entry
	err error
}

// Events implements [EventLog].
func (l logOf) Events(_ context.Context, last uint64) iter.Seq2[LogEvent, error] {
	return func(yield func(LogEvent, error) bool) {
		for _, e := range l.log {
			if e.Sequence > last || !yield(LogEvent{e.Sequence, e.Event.ID}, nil) {
				return
			}
		}
		if l.err != nil {
			yield(LogEvent{}, l.err)
		}
	}
}

func verify(t *testing.T, cfg VerifyConfig) *Verification {
	t.Helper()
	v, err := Verify(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// finds fails unless the findings are exactly these, each "kind path: part of
// what".
func finds(t *testing.T, v *Verification, want ...string) {
	t.Helper()
	for i, f := range v.Findings {
		got := string(f.Kind) + " " + f.Path + ": " + f.What
		head, tail, _ := strings.Cut(append(want, slices.Repeat([]string{"nothing: "}, i+1)...)[i], ": ")
		if !strings.HasPrefix(got, head+": ") || !strings.Contains(f.What, tail) || f.Do == "" {
			t.Errorf("finding %q; %q, not %q", got, f.Do, head+": …"+tail)
		}
	}
	if len(v.Findings) != len(want) || v.OK() != (len(want) == 0) {
		t.Errorf("%d findings, not %d", len(v.Findings), len(want))
	}
}

func TestVerifyCleanArchive(t *testing.T) {
	t.Parallel()
	onPlaces(t, verifyCleanArchive)
}

func verifyCleanArchive(t *testing.T, fresh func(testing.TB) string) {
	dir, log := chain(t, fresh(t)), entries(t, 9)
	before := tree(t, dir)
	var steps [][2]int64
	v := verify(t, VerifyConfig{Dir: dir, Log: logOf{log: log}, Progress: func(done, total int64) {
		steps = append(steps, [2]int64{done, total})
	}})
	finds(t, v)
	if v.Commits != 3 || v.Files != 6 || v.Rows != 9 || v.Last != 9 || v.Compared != 9 || v.Gone != 0 || v.WithoutSums != 0 {
		t.Errorf("verified %+v", v)
	}
	if len(steps) != 6 || steps[0] != [2]int64{2, 9} || steps[5] != [2]int64{9, 9} {
		t.Errorf("progress %v", steps)
	}
	sameTree(t, before, tree(t, dir))
}

func TestVerifyOldEntries(t *testing.T) {
	t.Parallel()
	dir := chain(t, t.TempDir())
	var before Commit
	for n := uint64(1); n <= 3; n++ { // as if only the last had been written with sums
		err := forge(dir, n, func(c *Commit) {
			c.Previous = before.SHA256
			for i := range c.Files {
				if n < 3 {
					c.Files[i].Sums = nil
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if before, err = readCommit(t.Context(), &folder{root: dir}, n); err != nil {
			t.Fatal(err)
		}
	}
	v := verify(t, VerifyConfig{Dir: dir})
	finds(t, v)
	if v.WithoutSums != 4 || v.Rows != 9 {
		t.Errorf("verified %+v", v)
	}
}

// The files of the three commits of chain.
const (
	main1   = "account=main/event_date=2026-11-01/00000000000000000001-00000000000000000003.parquet"
	second1 = "account=second/event_date=2026-11-01/00000000000000000001-00000000000000000003.parquet"
	main2   = "account=main/event_date=2026-11-01/00000000000000000004-00000000000000000006.parquet"
	main3   = "account=main/event_date=2026-11-01/00000000000000000007-00000000000000000009.parquet"
	second3 = "account=second/event_date=2026-11-01/00000000000000000007-00000000000000000009.parquet"
)

func TestVerifyNamesDamage(t *testing.T) {
	t.Parallel()
	onPlaces(t, verifyNamesDamage)
}

func verifyNamesDamage(t *testing.T, fresh func(testing.TB) string) {
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	place := func(from, to string) func(string) error {
		return func(dir string) error { return copyFile(dir, from, to) }
	}
	forged := func(number uint64, change func(*Commit)) func(string) error {
		return func(dir string) error { return forge(dir, number, change) }
	}
	tests := []struct {
		name   string
		damage func(dir string) error
		want   []string
	}{
		{"changed byte in a file", flip(main1), []string{"damaged-file " + main1 + ": its hash is another", "missing-events " + manifestName(1) + ": 2 events of the log, from sequence 1 to 3"}},
		{"cut file", func(dir string) error { return os.Truncate(filepath.Join(dir, second3), 100) }, []string{"damaged-file " + second3 + ": has 100 bytes", "missing-events " + manifestName(3) + ": 1 events of the log, from sequence 8 to 8"}},
		{"missing file", remove(main2), []string{"missing-file " + main2 + ": is missing, with 1 events", "missing-events " + manifestName(2) + ": 1 events"}},
		{"file of another batch's name", place(main1, main3), []string{"other-file " + main3 + ": holds the bytes of " + main1, "missing-events " + manifestName(3) + ": 2 events of the log, from sequence 7 to 9"}},
		{"moved file", func(dir string) error {
			return os.Rename(filepath.Join(dir, main2), filepath.Join(dir, "moved.parquet"))
		}, []string{"stray-file moved.parquet: holds the bytes of " + main2 + ", which is not in its place", "missing-file " + main2 + ": is missing", "missing-events " + manifestName(2) + ": 1 events"}},
		{"doubled file", place(main1, path.Dir(main1)+"/copy.parquet"), []string{"doubled-file " + path.Dir(main1) + "/copy.parquet: copy of " + main1}},
		{"doubled file in another partition", place(main1, "account=third/event_date=2026-11-01/"+path.Base(main1)), []string{"doubled-file account=third/event_date=2026-11-01/" + path.Base(main1) + ": copy of " + main1}},
		{"hidden Parquet file", place(main1, ".hidden.parquet"), []string{"doubled-file .hidden.parquet: copy of"}},
		{"foreign file", place(manifestName(1), "notes.txt"), []string{"stray-file notes.txt: is named by no entry"}},
		{"changed byte in an entry", change(manifestName(2), `"rows":1`, `"rows":2`), []string{"bad-entry " + manifestName(2) + ": has been changed", "wrong-rows " + main2 + ": has 1 rows, and the manifest counts 2"}},
		{"unreadable entry", change(manifestName(2), `{"sha256"`, `x`), []string{"bad-entry " + manifestName(2) + ": is no manifest entry", "stray-file " + main2 + ": no entry", "stray-file " + strings.Replace(main2, "main", "second", 1) + ": no entry", "missing-events " + manifestName(3) + ": 3 events of the log, from sequence 4 to 6"}},
		{"replaced entry", forged(2, func(c *Commit) { c.Writer = "0" }), []string{"bad-entry " + manifestName(3) + ": does not follow entry 2"}},
		{"missing entry", remove(manifestName(1)), []string{"bad-entry " + manifestName(1) + ": is missing", "stray-file " + main1 + ": no entry", "stray-file " + second1 + ": no entry", "missing-events " + manifestName(2) + ": 3 events of the log, from sequence 1 to 3"}},
		{"cut manifest", remove(manifestName(3)), []string{"cut-manifest " + main3 + ": holds events up to 9, and the manifest ends at 6", "cut-manifest " + second3 + ": holds events up to 9"}},
		{"foreign entry", place(manifestName(1), manifestDir+"/notes.txt"), []string{"bad-entry " + manifestDir + "/notes.txt: is no entry"}},
		{"wrong sums", forged(3, func(c *Commit) { c.Files[0].Sums.OrdersPrice["CNY"] = "1.00" }), []string{"wrong-rows " + main3 + ": other sums than the manifest: orders_price"}},
		{"wrong count", forged(3, func(c *Commit) { c.Files[0].Sums.Types["order.created"]++ }), []string{"wrong-rows " + main3 + ": other sums than the manifest: types"}},
		{"wrong range", forged(3, func(c *Commit) { c.Files[1].First = 7 }), []string{"wrong-rows " + second3 + ": holds sequences 8 to 8, and the manifest says 7 to 8"}},
		{"path out of the archive", forged(3, func(c *Commit) { c.Files[0].Path = "../" + main3 }), []string{"stray-file " + main3 + ": holds the bytes of ../", "wrong-rows ../" + main3 + ": is no name of a file", "missing-events " + manifestName(3) + ": 2 events"}},
		{"partition of another date", func(dir string) error {
			to := strings.Replace(main3, "11-01", "11-02", 1)
			return errors.Join(copyFile(dir, main3, to), os.Remove(filepath.Join(dir, main3)), forge(dir, 3, func(c *Commit) { c.Files[0].Path = to }))
		}, []string{"wrong-rows " + strings.Replace(main3, "11-01", "11-02", 1) + ": has 2 rows of another date"}},
		{"file named twice", forged(3, func(c *Commit) {
			c.Files = append(c.Files, c.Files[1])
			c.Totals = c.Totals.plus(c.Files[2:])
		}), []string{"bad-entry " + manifestName(3) + ": adds " + second3 + ", which is there already"}},
		{"intent out of turn", func(dir string) error {
			return writeIntent(dir, `{"number":9}`)
		}, []string{"bad-intent " + strayIntent + ": is about commit 9"}},
		{"unreadable intent", func(dir string) error {
			return writeIntent(dir, `{"number"`)
		}, []string{"bad-intent " + strayIntent + ": cannot be read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := chain(t, fresh(t))
			damaged(t, dir, tt.damage)
			finds(t, verify(t, VerifyConfig{Dir: dir, Log: logOf{log: entries(t, 9)}}), tt.want...)
		})
	}
}

func copyFile(dir, from, to string) error {
	content, err := os.ReadFile(filepath.Join(dir, from))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, to), content, 0o600)
}

// flip changes one byte in the middle of a file.
func flip(name string) func(dir string) error {
	return func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		content[len(content)/2] ^= 1
		return os.WriteFile(filepath.Join(dir, name), content, 0o600)
	}
}

func TestVerifyAgainstTheLog(t *testing.T) {
	t.Parallel()
	log := entries(t, 9)
	other := slices.Clone(log)
	other[4].Event.ID = "another"
	unreadable := slices.Clone(log)
	unreadable[8].Event.ID = ""
	more := append(slices.Clone(log[:5]), log[5:]...)
	failed := errors.New("gone")
	for _, tt := range []struct {
		name           string
		log            logOf
		compared, gone int64
		want           []string
	}{
		{"longer than the archive", logOf{log: append(more, entry(t, 10, event("main", 10, 1)))}, 9, 0, nil},
		{"begins later", logOf{log: log[4:]}, 5, 4, nil},
		{"is empty", logOf{}, 0, 9, nil},
		{"has another event", logOf{log: other}, 8, 0, []string{"other-events " + manifestName(2) + ": 1 sequences, from 5 to 5"}},
		{"has an unreadable message", logOf{log: unreadable}, 8, 0, nil},
		{"fails", logOf{log: log[:4], err: failed}, 4, 0, []string{"bad-log : gone"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := verify(t, VerifyConfig{Dir: chain(t, t.TempDir()), Log: tt.log})
			finds(t, v, tt.want...)
			if v.Compared != tt.compared || v.Gone != tt.gone {
				t.Errorf("%d compared, %d gone", v.Compared, v.Gone)
			}
		})
	}
}

// Wherever an archiver crashes, what it leaves is under way and no fault.
func TestVerifyAfterACrash(t *testing.T) {
	t.Parallel()
	onPlaces(t, verifyAfterACrash)
}

func verifyAfterACrash(t *testing.T, fresh func(testing.TB) string) {
	ops, _ := changes(t, fresh(t))
	seen := 0
	for i := range ops {
		log, cfg, flush := crashLog(t)
		cfg.Dir = fresh(t)
		crash := &crasher{at: i}
		if err := runUntil(t.Context(), cfg, log, 4, flush, crash.before); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		v, err := Verify(t.Context(), VerifyConfig{Dir: cfg.Dir, Log: logOf{log: log}})
		if errors.Is(err, ErrNoArchive) && tree(t, cfg.Dir)[markName] == "" {
			continue // crashed before there was an archive
		}
		if err != nil {
			t.Fatal(err)
		}
		finds(t, v)
		seen += len(v.UnderWay)
	}
	if seen == 0 {
		t.Error("no crash has left a file under way")
	}
}

func TestVerifyStops(t *testing.T) {
	t.Parallel()
	if _, err := Verify(t.Context(), VerifyConfig{Dir: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, ErrNoArchive) {
		t.Errorf("error %v of a missing folder", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Verify(ctx, VerifyConfig{Dir: chain(t, t.TempDir()), Progress: func(int64, int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the first file", err)
	}
}
