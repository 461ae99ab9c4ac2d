package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// ReadManifest reads all commits of the archive at a place, oldest first, and
// checks the chain: that entries are numbered without a gap, that each is as it
// was written and follows the one before it, and that ranges ascend. A fault is
// a [ManifestError], a folder without an archive a [StorageError]. It takes no
// lock and may run beside an archiver.
func ReadManifest(ctx context.Context, dir string) ([]Commit, error) {
	s, err := storeAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	count, err := countCommits(ctx, s)
	if err != nil {
		return nil, err
	}
	commits := make([]Commit, 0, count)
	var before Commit
	for n := uint64(1); n <= count; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := readCommit(ctx, s, n)
		if err != nil {
			return nil, err
		}
		if err := c.follows(&before); err != nil {
			return nil, &ManifestError{Path: s.path(manifestName(n)), Problem: err.Error()}
		}
		commits = append(commits, c)
		before = c
	}
	return commits, nil
}

// readHead returns the last commit, the zero Commit when there is none. It checks
// that no number is missing and that the last entry follows the one before it.
func readHead(ctx context.Context, s store) (Commit, error) {
	count, err := countCommits(ctx, s)
	if err != nil || count == 0 {
		return Commit{}, err
	}
	var before Commit
	if count > 1 {
		if before, err = readCommit(ctx, s, count-1); err != nil {
			return Commit{}, err
		}
	}
	last, err := readCommit(ctx, s, count)
	if err != nil {
		return Commit{}, err
	}
	if err := last.follows(&before); err != nil {
		return Commit{}, &ManifestError{Path: s.path(manifestName(count)), Problem: err.Error()}
	}
	return last, nil
}

// countCommits counts the entries of the manifest.
func countCommits(ctx context.Context, s store) (uint64, error) {
	names, err := s.names(ctx, manifestDir)
	if err != nil {
		return 0, err
	}
	// A desktop may have left a hidden file there.
	names = slices.DeleteFunc(names, func(name string) bool { return name[0] == '.' })
	for i, name := range names {
		if want := path.Base(manifestName(uint64(i + 1))); name != want {
			return 0, &ManifestError{
				Path:    s.path(path.Join(manifestDir, name)),
				Problem: fmt.Sprintf("stands where %s should be", want),
			}
		}
	}
	return uint64(len(names)), nil
}

func readCommit(ctx context.Context, s store, number uint64) (Commit, error) {
	name := manifestName(number)
	document, err := s.read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Commit{}, &ManifestError{Path: s.path(name), Problem: "is missing", Cause: err}
	}
	if err != nil {
		return Commit{}, err
	}
	c, err := decodeCommit(document)
	if err != nil {
		return Commit{}, &ManifestError{Path: s.path(name), Problem: err.Error()}
	}
	return c, nil
}
