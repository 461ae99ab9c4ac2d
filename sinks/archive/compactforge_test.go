package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// rechain changes an entry and lets all that follow it do so again.
func rechain(dir string, number uint64, change func(*Commit)) error {
	all, err := ReadManifest(context.Background(), dir)
	if err != nil {
		return err
	}
	var before Commit
	live := map[string]File{}
	for i := range all {
		c := &all[i]
		if c.Number == number {
			change(c)
		}
		if c.Number >= number {
			err := forge(dir, c.Number, func(to *Commit) {
				var gone []File
				for _, name := range c.Replaces {
					gone = append(gone, live[name])
				}
				*to = *c
				to.Previous, to.Totals = before.SHA256, before.Totals.plus(c.Files).minus(gone)
			})
			if err != nil {
				return err
			}
		}
		if before, err = readCommit(context.Background(), &folder{root: dir}, c.Number); err != nil {
			return err
		}
		for _, f := range c.Files {
			live[f.Path] = f
		}
	}
	return nil
}

// Each kind of forged compaction is refused, with what is wrong.
func TestForgedCompactions(t *testing.T) {
	t.Parallel()
	dir := chain(t, t.TempDir())
	_, err := Compact(t.Context(), CompactConfig{Dir: dir, Account: "main", Now: later})
	noError(t, err)
	all := commits(t, dir)
	good := all[3]
	merged := "account=main/event_date=2026-11-01/" + rangeName(1, 9)
	for _, tt := range []struct {
		want  string
		forge func(*Commit)
	}{
		{"", func(*Commit) {}},
		{"", func(c *Commit) { c.Files[0].Sums = nil }},
		{"replaces nowhere.parquet, which is not there", func(c *Commit) { c.Replaces[1] = "nowhere.parquet" }},
		{"replaces " + main1 + ", which is not there", func(c *Commit) { c.Replaces[1] = main1 }}, // twice
		{"replaces 5 events by 4", func(c *Commit) { c.Files[0].Rows = 4 }},
		{"replaces 4 events by 5", func(c *Commit) { c.Replaces = []string{main1, main3}; c.Totals.Files++ }},
		{"replaces events by those of another range", func(c *Commit) { c.Files[0].First = 2 }},
		{"replaces events by those of another range", func(c *Commit) { c.Files[0].Last = 8 }},
		{"replaces events by others with other sums: orders_price", func(c *Commit) { c.Files[0].Sums.OrdersPrice = Amounts{"CNY": "1.00"} }},
		{"replaces events by others with other sums: types", func(c *Commit) { c.Files[0].Sums.Types = map[string]int64{"order.created": 4} }},
		{"moves events to another partition", func(c *Commit) { c.Files[0].Path = strings.Replace(merged, "main", "other", 1) }},
		{"moves events to another partition", func(c *Commit) { c.Replaces[1] = second2; c.Files[0].Rows++ }},
		{"has wrong totals", func(c *Commit) { c.Totals.Rows++ }},
		{"has wrong totals", func(c *Commit) { c.Totals.Files++ }},
		{"has wrong totals", func(c *Commit) { c.Totals.Bytes++ }},
		{"is a compaction that does not say where its files were staged", func(c *Commit) { c.Staged = "" }},
		{"adds " + main1 + ", which is there already", func(c *Commit) { c.Files[0].Path = main1 }},
		{"adds " + merged + ", which is there already", func(c *Commit) { c.Files = append(c.Files, c.Files[0]); c.Totals.Files++ }},
		{"has no files", func(c *Commit) { c.Files = nil }},
		{"has a file beyond its range", func(c *Commit) { c.Files[0].Last = 10 }},
		{"compacts up to sequence 8, and the commit before it ends at 9", func(c *Commit) { c.Last = 8 }},
		{"compacts up to sequence 9, and the commit before it ends at 9", func(c *Commit) { c.First = 1 }},
		{"is entry 5, and entry 4 is due", func(c *Commit) { c.Number = 5 }},
		{"does not follow entry 3: that one has been changed or replaced", func(c *Commit) { c.Previous = "" }},
	} {
		forged := good
		forged.Files, forged.Replaces = slices.Clone(good.Files), slices.Clone(good.Replaces)
		sums := *good.Files[0].Sums
		sums.Types, forged.Files[0].Sums = maps.Clone(sums.Types), &sums
		tt.forge(&forged)
		h := newHistory()
		for i := range all[:3] {
			noError(t, h.add(&all[i]))
		}
		err := h.add(&forged)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("error %v, not %q", err, tt.want)
		}
		if number := h.head.Number; err == nil && number != 4 || err != nil && number != 3 {
			t.Errorf("%s: the head is entry %d", tt.want, number)
		}
	}
}

// Verify names what is wrong with an archive that was compacted.
func TestVerifyNamesDamageOfACompaction(t *testing.T) {
	t.Parallel()
	onPlaces(t, verifyNamesDamageOfACompaction)
}

func verifyNamesDamageOfACompaction(t *testing.T, fresh func(testing.TB) string) {
	merged := "account=main/event_date=2026-11-01/" + rangeName(1, 9)
	other := strings.Replace(merged, "main", "second", 1)
	var old string
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	for _, tt := range []struct {
		name   string
		damage func(dir string) error
		want   []string
	}{
		{"a replaced file that came back", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, main2), []byte(old), 0o600)
		}, []string{"doubled-file " + main2 + ": was replaced by commit 4, a compaction"}},
		{"a lost merged file", remove(merged), []string{"missing-file " + merged + ": is missing, with 5 events between 1 and 9",
			"missing-events " + manifestName(1) + ": 2 events", "missing-events " + manifestName(2) + ": 1 events", "missing-events " + manifestName(3) + ": 2 events"}},
		{"a changed byte in a merged file", flip(merged), []string{"damaged-file " + merged + ": its hash is another",
			"missing-events " + manifestName(1) + ": 2 events", "missing-events " + manifestName(2) + ": 1 events", "missing-events " + manifestName(3) + ": 2 events"}},
		{"a changed byte in the entry", change(manifestName(4), `"rows":5`, `"rows":6`), []string{"bad-entry " + manifestName(4) + ": has been changed",
			"wrong-rows " + merged + ": has 5 rows, and the manifest counts 6"}},
		{"a copy", func(dir string) error { return copyFile(dir, merged, "copy.parquet") }, []string{"doubled-file copy.parquet: is a copy of " + merged}},
		{"the entry is lost", remove(manifestName(5)), []string{"cut-manifest " + other + ": holds events of several batches from 1 to 9",
			"missing-file " + second1 + ": is missing", "missing-file " + second2 + ": is missing", "missing-events " + manifestName(1) + ": 1 events",
			"missing-events " + manifestName(2) + ": 2 events", "missing-file " + second3 + ": is missing", "missing-events " + manifestName(3) + ": 1 events"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := chain(t, fresh(t))
			old = tree(t, dir)[main2]
			_, err := Compact(t.Context(), CompactConfig{Dir: dir, Now: later})
			noError(t, err)
			damaged(t, dir, tt.damage)
			finds(t, verify(t, VerifyConfig{Dir: dir, Log: logOf{log: entries(t, 9)}}), tt.want...)
		})
	}
}

// A compaction of which a merged file is lost before it is in its place removes
// nothing.
func TestLostStage(t *testing.T) {
	t.Parallel()
	onPlaces(t, func(t *testing.T, fresh func(testing.TB) string) {
		dir := compactable(t, fresh(t))
		gone := false
		_, err := compactAt(t.Context(), pairs(t, dir, tree(t, dir)), func(op, path string) error {
			if gone = gone || op == "remove" && strings.Contains(path, extension); gone {
				return errCrash
			}
			return nil
		})
		if !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		damaged(t, dir, func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, stagedDir, "0*", "1.tmp"))
			if err != nil || len(names) != 1 {
				t.Errorf("staged %v, %v", names, err)
				return err
			}
			return os.Remove(names[0])
		})
		before := tree(t, dir)
		_, err = Compact(t.Context(), CompactConfig{Dir: dir, Now: later})
		isManifestError(t, err, "is lost before it came into its place")
		_, err = Open(t.Context(), Config{Dir: dir})
		isManifestError(t, err, "is lost before it came into its place")
		sameTree(t, before, tree(t, dir))
		if n := len(visible(t, dir)); n != 8 {
			t.Errorf("readers see %d files", n)
		}
	})
}

// A file of which the manifest says all that is true, but whose events stand in
// another one as well, doubles them.
func TestVerifyFindsDoubledEvents(t *testing.T) {
	t.Parallel()
	dir := chain(t, t.TempDir())
	noError(t, copyFile(dir, main1, second1))
	noError(t, rechain(dir, 1, func(c *Commit) {
		name := c.Files[1].Path
		c.Files[1] = c.Files[0]
		c.Files[1].Path = name
	}))
	finds(t, verify(t, VerifyConfig{Dir: dir, Log: logOf{log: entries(t, 9)}}),
		"doubled-events "+manifestName(1)+": has 2 rows too many: sequence 1 is the first", "missing-events "+manifestName(1)+": 1 events of the log, from sequence 2 to 2")
}
