package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// checkStrays looks at each file that is where readers look and not live.
func (v *verifier) checkStrays(ctx context.Context) error {
	staged, err := v.place.list(ctx, stagedDir)
	if err != nil {
		return err
	}
	for _, name := range v.present {
		if _, live := v.history.live[name]; live {
			continue
		}
		if v.isUnderWay(name, staged) {
			v.found.UnderWay = append(v.found.UnderWay, name)
			continue
		}
		if err := v.stray(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// isUnderWay reports whether an intent names a file, or a compaction that has not
// put all its files into their places is to remove it.
func (v *verifier) isUnderWay(name string, staged []string) bool {
	if slices.ContainsFunc(v.intents, func(in *intent) bool { return slices.Contains(in.Files, name) }) {
		return true
	}
	c := v.replacedBy(name)
	return c != nil && slices.ContainsFunc(staged, func(s string) bool { return path.Dir(s) == c.Staged })
}

// replacedBy returns the compaction that has replaced a file, nil for none.
func (v *verifier) replacedBy(name string) *Commit {
	for i := len(v.entries) - 1; i >= 0; i-- {
		if slices.Contains(v.entries[i].Replaces, name) {
			return &v.entries[i]
		}
	}
	return nil
}

func (v *verifier) stray(ctx context.Context, name string) error {
	sum, err := v.hash(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // an archiver has taken it back, or a compaction removed it
	case ctx.Err() != nil:
		return ctx.Err()
	}
	first, last, ranged := rangeOf(name)
	original, copied := v.byHash[sum]
	compacted := v.replacedBy(name)
	switch {
	case copied && err == nil && slices.Contains(v.present, original):
		v.found.add(DoubledFile, name, "is a copy of "+original+": readers count its events twice",
			"if nothing else is found about "+original+", remove the copy")
	case copied && err == nil:
		v.found.add(StrayFile, name, "holds the bytes of "+original+", which is not in its place", "move it back there")
	case compacted != nil:
		v.found.add(DoubledFile, name, fmt.Sprintf("was replaced by commit %d, a compaction: readers count its events twice", compacted.Number),
			"if nothing is found about the files of that commit, remove it")
	case ranged && last > v.history.head.Last:
		v.found.add(CutManifest, name, fmt.Sprintf("holds events up to %d, and the manifest ends at %d", last, v.history.head.Last),
			"restore the manifest's last entries from a copy")
	case ranged && v.batchesWithin(first, last) > 1:
		v.found.add(CutManifest, name, fmt.Sprintf("holds events of several batches from %d to %d, and no compaction of the manifest has written it", first, last),
			"restore the manifest's last entries from a copy")
	default:
		v.found.add(StrayFile, name, "is named by no entry of the manifest", "move it out of the folder")
	}
	return nil
}

// batchesWithin counts the batches of a range of sequences: only a compaction gives
// a file the range of several.
func (v *verifier) batchesWithin(first, last uint64) int {
	n := 0
	for _, c := range batchesOf(v.entries) {
		if c.First >= first && c.Last <= last {
			n++
		}
	}
	return n
}

// hash returns the hash of a file's bytes.
func (v *verifier) hash(ctx context.Context, name string) (string, error) {
	file, err := v.place.open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	return file.hash(ctx)
}
