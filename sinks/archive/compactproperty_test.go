package archive

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/schema"
)

// Random batches, compactions of random sizes between them, and crashes: every
// event stands in one row, nothing is found wrong, and a partition that has become
// one file has the bytes that one batch would have given.
func TestCompactProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, log := t.TempDir(), drawCompactLog(rt)
		sizes := rapid.SampledFrom([]int64{15_000, 30_000, 60_000, 1 << 20})
		for rest := log; len(rest) > 0; {
			n := min(len(rest), rapid.IntRange(1, 6).Draw(rt, "batch"))
			noError(rt, runUntil(rt.Context(), Config{Dir: dir, RollEvery: time.Hour}, rest[:n], n, nil, nil))
			rest = rest[n:]
			if rapid.Bool().Draw(rt, "compact") {
				crash := &crasher{at: rapid.IntRange(-1, 60).Draw(rt, "crash")}
				cfg := CompactConfig{Dir: dir, FileBytes: sizes.Draw(rt, "size"), Now: later}
				if _, err := compactAt(rt.Context(), cfg, crash.before); err != nil && !errors.Is(err, errCrash) {
					rt.Fatal(err)
				}
				verified(rt, dir, log[:len(log)-len(rest)])
			}
		}
		_, err := compactAt(rt.Context(), CompactConfig{Dir: dir, Now: later}, nil)
		noError(rt, err)
		verified(rt, dir, log)
		exactlyOnce(rt, dir, log)
		sameAsOne(t, rt, dir, log)
	})
}

// drawCompactLog makes events of two accounts and two days.
func drawCompactLog(rt *rapid.T) []schema.Entry {
	log := make([]schema.Entry, rapid.IntRange(1, 14).Draw(rt, "events"))
	for i := range log {
		e := event(rapid.SampledFrom([]string{"main", "second"}).Draw(rt, "account"), rapid.IntRange(0, 5).Draw(rt, "order"), uint64(i+1))
		e.Data.ObservedAt = epoch.AddDate(0, 0, rapid.IntRange(0, 1).Draw(rt, "day"))
		e.Time = e.Data.ObservedAt
		log[i] = entry(rt, uint64(i+1), e)
	}
	return log
}

func verified(rt *rapid.T, dir string, log []schema.Entry) {
	v, err := Verify(context.Background(), VerifyConfig{Dir: dir, Log: logOf{log: log}})
	noError(rt, err)
	if !v.OK() || v.Compared != int64(len(log)) {
		rt.Fatalf("verified %+v", v)
	}
}

// sameAsOne holds the partitions of one file to those of an archive of one batch.
func sameAsOne(t *testing.T, rt *rapid.T, dir string, log []schema.Entry) {
	one, is := tree(rt, archived(t, log)), tree(rt, dir)
	files := map[string][]string{}
	for name := range is {
		if strings.HasSuffix(name, extension) {
			files[path.Dir(name)] = append(files[path.Dir(name)], name)
		}
	}
	for in, names := range files {
		for name, content := range one {
			if len(names) == 1 && filepath.ToSlash(path.Dir(name)) == in && content != is[names[0]] {
				rt.Errorf("%s is not what one batch gives", names[0])
			}
		}
	}
}

// What the entry names is durable before it, and what readers lose is durably gone
// before they get what takes its place.
func TestCompactDurableBeforeVisible(t *testing.T) {
	t.Parallel()
	_, ops, _ := compactChanges(t, func(tb testing.TB) string { return tb.TempDir() })
	last := -1
	for _, step := range [][2]string{
		{"make folder", stagedDir}, {"sync folder", ownDir}, {"make folder", "-20261201T080000Z-"}, {"sync folder", stagedDir},
		{"create", "/0.tmp"}, {"sync", "/0.tmp"}, {"create", "/1.tmp"}, {"sync", "/1.tmp"}, {"sync folder", "-20261201T080000Z-"},
		{"create", stagedDir + "/entry/00000000000000000005.json.tmp"}, {"sync", "/00000000000000000005.json.tmp"},
		{"link to", manifestDir + "/00000000000000000005.json"}, {"sync folder", manifestDir},
		{"remove", "account=main/event_date=2026-11-01/" + rangeName(1, 4)}, {"remove", "account=main/event_date=2026-11-01/" + rangeName(5, 8)},
		{"remove", "account=main/event_date=2026-11-01/" + rangeName(9, 12)}, {"remove", "account=main/event_date=2026-11-01/" + rangeName(13, 16)},
		{"sync folder", "account=main/event_date=2026-11-01"},
		{"rename to", rangeName(1, 8)}, {"sync folder", "account=main/event_date=2026-11-01"},
		{"rename to", rangeName(9, 16)}, {"sync folder", "account=main/event_date=2026-11-01"},
		{"remove", "-20261201T080000Z-"}, {"sync folder", stagedDir},
	} {
		next := last + 1
		for next < len(ops) && !isStep(ops[next], step) {
			next++
		}
		if next == len(ops) {
			t.Fatalf("no %v behind step %d of %q", step, last, ops)
		}
		last = next
	}
	for i, op := range ops { // no file comes while one that it replaces is there
		if strings.HasPrefix(op, "rename to") && strings.Contains(strings.Join(ops[i+1:], "\n"), "remove "+strings.TrimPrefix(op[:strings.LastIndex(op, "/")], "rename to ")+"/") {
			t.Errorf("a file is removed behind %s", op)
		}
	}
}

// isStep compares a change with an operation and the end of its path, which may
// have eight random digits more.
func isStep(op string, step [2]string) bool {
	at, ok := strings.CutPrefix(filepath.ToSlash(op), step[0]+" ")
	if ok && strings.HasSuffix(step[1], "-") && len(at) > 8 {
		at = at[:len(at)-8]
	}
	return ok && strings.HasSuffix(at, step[1])
}
