package duckdbtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sinks/archive"
)

// ownFolder is the archive's own, below its folder.
const ownFolder = "_orderwire"

// remains is what a killed archiver has left.
type remains struct {
	phase     string            // what it was about
	position  uint64            // last sequence of the manifest
	undecided map[string]string // files in place whose commit is not in the manifest, and their hashes
}

// remainsOf looks at an archive's folder while nobody works there.
func remainsOf(tb testing.TB, folder string) remains {
	tb.Helper()
	left := remains{undecided: map[string]string{}}
	commits, err := archive.ReadManifest(tb.Context(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	if len(commits) > 0 {
		left.position = commits[len(commits)-1].Last
	}
	drafts := len(glob(tb, folder, ownFolder, "tmp", "*"))
	intents := append(glob(tb, folder, ownFolder, "intent.json"), glob(tb, folder, ownFolder, "intents", "*.json")...)
	switch {
	case len(intents) > 1:
		tb.Fatalf("there are %d intents: %v", len(intents), intents)
	case len(intents) == 0 && drafts == 0:
		left.phase = "0 between two commits"
		return left
	case len(intents) == 0:
		left.phase = "1 writing the intent"
		return left
	}
	in := readIntent(tb, intents[0])
	if in.Number <= uint64(len(commits)) {
		left.phase = "6 behind the entry of the manifest, before the intent has gone"
		return left
	}
	for _, name := range in.Files {
		if content, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
			left.undecided[name] = hash(content)
		}
	}
	switch n := len(left.undecided); {
	case n == len(in.Files):
		left.phase = "5 all files in place, before the entry of the manifest"
	case n > 0:
		left.phase = "4 some files in place"
	case drafts > 0:
		left.phase = "3 writing files"
	default:
		left.phase = "2 behind the intent"
	}
	return left
}

// position is the last sequence of an archive's manifest, 0 when there is none.
func position(tb testing.TB, folder string) uint64 {
	tb.Helper()
	commits, err := archive.ReadManifest(tb.Context(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	if len(commits) == 0 {
		return 0
	}
	return commits[len(commits)-1].Last
}

// awaitArchived returns when an archive's manifest has come to a sequence.
func awaitArchived(tb testing.TB, folder string, last uint64) {
	tb.Helper()
	limit := time.After(2 * time.Minute)
	for {
		changes, stop := watch(tb, folder)
		at := position(tb, folder)
		if at >= last {
			stop()
			return
		}
		select {
		case <-changes: // nil as long as there is no folder to watch
		case <-time.After(time.Second):
		case <-limit:
			tb.Fatalf("the archive has come to %d of %d", at, last)
		}
		stop()
	}
}

// pendingIntent is what the test reads of an intent.
type pendingIntent struct {
	Number uint64   `json:"number"`
	Files  []string `json:"files"`
}

func readIntent(tb testing.TB, name string) (in pendingIntent) {
	tb.Helper()
	document, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(document, &in)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return in
}

func glob(tb testing.TB, parts ...string) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(parts...))
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// neverTwice fails if DuckDB sees an event twice in a folder, as it is.
func neverTwice(tb testing.TB, folder string) {
	tb.Helper()
	if len(glob(tb, folder, "account=*", "*", "*.parquet")) == 0 {
		return // DuckDB takes that for a mistake
	}
	l := openLake(tb, folder)
	defer func() { _ = l.db.Close() }()
	l.answers(tb, "SELECT count(*) - count(DISTINCT sequence) FROM events", []string{"0"})
}

// noStrays fails if there is any file in an archive's folder but the files of the
// manifest, the manifest itself, the mark of an archive, the lock, and what the last
// verification found.
func noStrays(tb testing.TB, folder string) {
	tb.Helper()
	commits, err := archive.ReadManifest(tb.Context(), folder)
	if err != nil {
		tb.Fatal(err)
	}
	want := []string{ownFolder + "/lock", ownFolder + "/archive.json", ownFolder + "/verified.json"}
	for _, c := range commits {
		want = append(want, fmt.Sprintf("%s/manifest/%020d.json", ownFolder, c.Number))
		for _, f := range c.Files {
			want = append(want, f.Path)
		}
	}
	slices.Sort(want)
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))
		if _, known := slices.BinarySearch(want, name); !known {
			tb.Errorf("%s is left", name)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// same fails unless files that a kill had left in place before their commit are
// there in the end, byte by byte.
func same(tb testing.TB, folder string, hashes map[string]string) {
	tb.Helper()
	for name, was := range hashes {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			tb.Error(err)
		} else if hash(content) != was {
			tb.Errorf("%s was written otherwise than before the kill", name)
		}
	}
}
