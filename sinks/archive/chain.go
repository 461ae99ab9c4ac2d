package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"
)

// ReadManifest reads all commits of the archive at a place, oldest first, and
// checks the chain: that entries are numbered without a gap, that each is as it
// was written and follows the one before it, that ranges ascend, and that a
// compaction replaces files that are there by as many events. A fault is
// a [ManifestError], a place without an archive a [StorageError] that wraps
// [ErrNoArchive]. It takes no
// lock and may run beside an archiver.
func ReadManifest(ctx context.Context, dir string) ([]Commit, error) {
	s, err := archiveAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	commits, err := readManifest(ctx, s)
	return commits, errors.Join(err, s.Close())
}

func readManifest(ctx context.Context, s store) ([]Commit, error) {
	commits, err := readEntries(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	read := newHistory()
	for i := range commits {
		if err := read.add(&commits[i]); err != nil {
			return nil, &ManifestError{Path: s.path(manifestName(uint64(i + 1))), Problem: err.Error()}
		}
	}
	return commits, nil
}

// ReadManifestFrom reads the commits from a number on, which is at least 1, as
// [ReadManifest] does; none when there are fewer. The first of them is not
// checked against those before it, nor what a compaction replaces.
func ReadManifestFrom(ctx context.Context, dir string, number uint64) ([]Commit, error) {
	s, err := archiveAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it was only read
	commits, err := readEntries(ctx, s, number)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(commits); i++ {
		if err := commits[i].follows(&commits[i-1]); err != nil {
			return nil, &ManifestError{Path: s.path(manifestName(commits[i].Number)), Problem: err.Error()}
		}
	}
	return commits, nil
}

// readEntries reads the entries from a number on, each for itself.
func readEntries(ctx context.Context, s store, from uint64) ([]Commit, error) {
	count, err := countCommits(ctx, s)
	if err != nil || from > count {
		return nil, err
	}
	commits := make([]Commit, count-from+1)
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(manifestReaders)
	for i := range commits {
		reading.Go(func() (err error) {
			number := from + uint64(i)
			if commits[i], err = readCommit(ctx, s, number); err == nil && commits[i].Number != number {
				problem := fmt.Sprintf("is entry %d, and entry %d is due", commits[i].Number, number)
				err = &ManifestError{Path: s.path(manifestName(number)), Problem: problem}
			}
			return err
		})
	}
	return commits, reading.Wait()
}

// manifestReaders is how many entries are read at once: in a bucket each takes a
// request.
const manifestReaders = 16

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

// listManifest lists the entries of the manifest. A desktop may have left a hidden
// file there.
func listManifest(ctx context.Context, s store) ([]string, error) {
	names, err := s.list(ctx, manifestDir)
	return slices.DeleteFunc(names, func(name string) bool { return path.Base(name)[0] == '.' }), err
}

// countCommits counts the entries of the manifest.
func countCommits(ctx context.Context, s store) (uint64, error) {
	names, err := listManifest(ctx, s)
	if err != nil {
		return 0, err
	}
	for i, name := range names {
		if want := manifestName(uint64(i + 1)); name != want {
			return 0, &ManifestError{Path: s.path(name), Problem: fmt.Sprintf("stands where %s should be", path.Base(want))}
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
