package archive

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// unfinished leaves an archive with a commit of 1 to 4 and an intent of 5 to 12,
// of whose two files one is in its place.
func unfinished(t *testing.T, log []schema.Entry) Config {
	t.Helper()
	cfg := Config{Dir: t.TempDir()}
	if err := runUntil(t.Context(), cfg, log[:4], 4, nil, nil); err != nil {
		t.Fatal(err)
	}
	files := 0
	before := func(op, path string) error {
		if op == "rename to" && filepath.Ext(path) == extension {
			files++
		}
		if files == 2 {
			return errCrash
		}
		return nil
	}
	if err := runUntil(t.Context(), cfg, log[:12], 4, nil, before); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	if n := len(visible(t, cfg.Dir)); n != 3 {
		t.Fatalf("readers see %d files before the restart", n)
	}
	return cfg
}

func TestOpenTakesBackAnUnfinishedBatch(t *testing.T) {
	t.Parallel()
	cfg := unfinished(t, entries(t, 12))
	a := open(t, cfg)
	if got := visible(t, cfg.Dir); len(got) != 2 {
		t.Errorf("after the restart readers see %v", got)
	}
	if s := a.Stats(); s.Repeating != 12 || s.LastSequence != 4 {
		t.Errorf("figures %+v", s)
	}
}

// The batch of an intent ends where it ended, whatever size, time and Flush say.
func TestUnfinishedBatchIsRepeatedExactly(t *testing.T) {
	t.Parallel()
	log := entries(t, 20)
	cfg := unfinished(t, log)
	cfg.RollBytes, cfg.RollEvery = 1, 1
	a := open(t, cfg)
	for _, part := range [][]schema.Entry{log[:6], log[6:11]} {
		write(t, a, part)
		if s := a.Stats(); s.Commits != 1 || s.Buffered == 0 {
			t.Errorf("figures %+v", s)
		}
	}
	write(t, a, log[11:14])
	if got, want := ranges(t, cfg.Dir), [][2]uint64{{1, 4}, {5, 12}, {13, 13}, {14, 14}}; !slices.Equal(got, want) {
		t.Errorf("commits %v, not %v", got, want)
	}
	exactlyOnce(t, cfg.Dir, log[:14])
}

// A log that was trimmed meanwhile lacks entries of the unfinished batch.
func TestUnfinishedBatchOfATrimmedLog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		from int // first entry that the log still has
		lose int // one more that it lacks
		want [][2]uint64
	}{
		{"its beginning", 8, 0, [][2]uint64{{1, 4}, {9, 12}, {13, 20}}},
		{"its end", 4, 12, [][2]uint64{{1, 4}, {5, 11}, {13, 20}}},
		{"all", 15, 0, [][2]uint64{{1, 4}, {16, 20}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := entries(t, 20)
			cfg := unfinished(t, log)
			rest := slices.DeleteFunc(slices.Clone(log[tt.from:]), func(e schema.Entry) bool { return e.Sequence == uint64(tt.lose) })
			a := open(t, cfg)
			write(t, a, rest)
			if got := ranges(t, cfg.Dir); !slices.Equal(got, tt.want) {
				t.Errorf("commits %v, not %v", got, tt.want)
			}
			if _, err := a.Position(t.Context()); err != nil || a.Stats().Repeating != 0 {
				t.Errorf("figures %+v, %v", a.Stats(), err)
			}
			exactlyOnce(t, cfg.Dir, append(slices.Clone(log[:4]), rest...))
		})
	}
}
