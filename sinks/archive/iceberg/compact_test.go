package iceberg

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/orderwire/orderwire/sinks/archive"
)

// compacted makes an archive of two batches in dir, and merges them by hand: it
// returns both entries and the one that replaces their files. merged is an archive
// with the same events in one batch.
func compacted(t *testing.T, dir string) (entries []archive.Commit, merged string) {
	t.Helper()
	archived(t, dir, 20, 40)
	entries = manifest(t, dir)
	merged = t.TempDir()
	archived(t, merged, 40)
	c := archive.Commit{Format: 2, Number: 3, Previous: entries[1].SHA256, First: 41, Last: 40, SHA256: "c3", Files: manifest(t, merged)[0].Files}
	for _, e := range entries {
		for _, f := range e.Files {
			c.Replaces = append(c.Replaces, f.Path)
		}
	}
	return append(entries, c), merged
}

// swap puts the merged files into the place of the others.
func swap(t *testing.T, dir, merged string, c *archive.Commit) {
	t.Helper()
	for _, path := range c.Replaces {
		if err := os.Remove(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range c.Files {
		if err := os.Rename(filepath.Join(merged, f.Path), filepath.Join(dir, f.Path)); err != nil {
			t.Fatal(err)
		}
	}
}

// A compaction comes when the table has all, some or none of what it replaces.
func TestCompaction(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in        int // entries that the table has before
		operation table.Operation
	}{
		"all in": {2, table.OpReplace}, "one in": {1, table.OpOverwrite}, "none in": {0, table.OpAppend},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			entries, merged := compacted(t, dir)
			want := held(t.Context(), t, dir)
			f := newFollower(t, configure(t, dir))
			if err := f.connected(t.Context()); err != nil {
				t.Fatal(err)
			}
			var tbl *table.Table
			for i := range test.in {
				if done, err := f.takeOver(t.Context(), tbl, entries[i:i+1]); !done || err != nil {
					t.Fatal(done, err)
				}
				tbl = open(t, f)
			}
			swap(t, dir, merged, &entries[2])
			if done, err := f.takeOver(t.Context(), tbl, entries[test.in:]); !done || err != nil {
				t.Fatal(done, err)
			}
			tbl = open(t, f)
			if got := scan(t, tbl); !got.equal(want) {
				t.Errorf("%d rows with %v, not %d with %v", len(got.sequences), got.sums, len(want.sequences), want.sums)
			}
			s := tbl.CurrentSnapshot()
			if s.Summary.Operation != test.operation || len(snapshots(tbl)) != test.in+1 || s.Summary.Properties[keyCommit] != "3" {
				t.Errorf("snapshot %v of %d", s.Summary, len(snapshots(tbl)))
			}
			tasks, err := tbl.Scan().PlanFiles(t.Context())
			if err != nil || len(tasks) != len(entries[2].Files) {
				t.Errorf("%d files, not %d, %v", len(tasks), len(entries[2].Files), err)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	files := func(paths ...string) (all []archive.File) {
		for _, p := range paths {
			all = append(all, archive.File{Path: p})
		}
		return all
	}
	many := make([]string, filesAtOnce-1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, test := range map[string]struct {
		behind      []archive.Commit
		entries     int
		add, remove []string
	}{
		"one":            {[]archive.Commit{{Files: files("a")}}, 1, []string{"a"}, nil},
		"some":           {[]archive.Commit{{Files: files("a", "b")}, {Files: files("c")}}, 2, []string{"a", "b", "c"}, nil},
		"up to the most": {[]archive.Commit{{Files: files(many...)}, {Files: files("a")}, {Files: files("b")}}, 2, append(slices.Clone(many), "a"), nil},
		"more than that": {[]archive.Commit{{Files: files(many...)}, {Files: files("a", "b")}}, 1, many, nil},
		"compaction":     {[]archive.Commit{{Files: files("m"), Replaces: []string{"a", "b"}}}, 1, []string{"m"}, []string{"a", "b"}},
		"never in":       {[]archive.Commit{{Files: files("a", "b")}, {Files: files("m"), Replaces: []string{"z", "a"}}}, 2, []string{"b", "m"}, []string{"z"}},
		"never in, but many files": {[]archive.Commit{{Files: files("a")}, {Files: files(many...)}, {Files: files("x", "y")}, {Files: files("m"), Replaces: []string{"a"}}},
			4, append(slices.Clone(many), "x", "y", "m"), nil},
		"twice": {[]archive.Commit{{Files: files("a")}, {Files: files("m"), Replaces: []string{"a"}}, {Files: files("n"), Replaces: []string{"m", "o"}}},
			3, []string{"n"}, []string{"o"}},
	} {
		s, err := nextStep(test.behind)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var add []string
		for _, f := range s.add {
			add = append(add, f.Path)
		}
		if len(s.entries) != test.entries || !slices.Equal(add, test.add) || !slices.Equal(s.remove, test.remove) {
			t.Errorf("%s: %d entries add %d files and remove %v", name, len(s.entries), len(add), s.remove)
		}
	}
	if s, err := nextStep([]archive.Commit{{Number: 7}}); err == nil {
		t.Errorf("an entry without files gave %v", s)
	}
}
