package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"time"
)

// orphanAfter is the age at which staged files that no entry names are removed from
// a place without locks: whoever wrote them is not about to record them.
const orphanAfter = 24 * time.Hour

// staleAfter is the age at which they are not recorded any more.
const staleAfter = orphanAfter / 2

// compactDraftDir holds the small files of a compaction on a disk. It is no stage's
// name, so whatever is left there is an orphan.
const compactDraftDir = stagedDir + "/entry"

// stagedLayout is how the name of a stage tells its time.
const stagedLayout = "20060102T150405Z"

// newStaged names a folder for the files of a compaction, whose entry will have that
// number or a later one. Two compactions never have the same.
func newStaged(number uint64, now time.Time) string {
	return path.Join(stagedDir, fmt.Sprintf("%020d-%s-%08x", number, now.UTC().Format(stagedLayout), rand.Uint32())) //nolint:gosec // it keeps names apart and is no secret
}

// readStaged reads number and time out of such a name.
func readStaged(name string) (number uint64, at time.Time, err error) {
	var clock string
	var random uint32
	if _, err := fmt.Sscanf(path.Base(name), "%020d-%16s-%08x", &number, &clock, &random); err != nil {
		return 0, time.Time{}, err
	}
	at, err = time.Parse(stagedLayout, clock)
	return number, at, err
}

// finishStaged puts right what compactions have left that a crash has stopped: the
// files of one that is in the manifest get their places, those of any other go. It
// returns how many were finished. Nobody else may be compacting in a folder; in a
// bucket, the stage of another one is left alone for a day.
func finishStaged(ctx context.Context, p place, now time.Time) (finished int, err error) {
	names, err := p.list(ctx, stagedDir)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	head, err := readHead(ctx, p)
	if err != nil {
		return 0, err
	}
	stages := map[string]bool{}
	for _, name := range names {
		stages[path.Dir(name)] = true
	}
	for stage := range stages {
		c, err := stagedBy(ctx, p, stage, &head)
		switch {
		case err != nil:
		case c != nil:
			finished++
			err = finishStage(ctx, p, c)
		case isOrphan(p, stage, now):
			err = removeStage(ctx, p, stage)
		}
		if err != nil {
			return finished, err
		}
	}
	return finished, nil
}

// stagedBy returns the commit whose files are in a stage, nil when there is none.
func stagedBy(ctx context.Context, s store, stage string, head *Commit) (*Commit, error) {
	number, _, err := readStaged(stage)
	if err != nil {
		return nil, nil //nolint:nilerr // no name of ours, so no commit has it
	}
	for n := max(number, 1); n <= head.Number; n++ {
		c, err := readCommit(ctx, s, n)
		if err != nil {
			return nil, err
		}
		if c.Staged == stage {
			return &c, nil
		}
	}
	return nil, nil
}

// isOrphan reports whether a stage that no entry names can go.
func isOrphan(p place, stage string, now time.Time) bool {
	if hasLocks(p) {
		return true
	}
	_, at, err := readStaged(stage)
	return err == nil && now.Sub(at) > orphanAfter
}

// isStale reports whether a stage is so old that its files must not be recorded:
// another compaction may soon find it an orphan.
func isStale(p place, stage string, now time.Time) bool {
	_, at, err := readStaged(stage)
	return !hasLocks(p) && (err != nil || now.Sub(at) > staleAfter)
}

// hasLocks reports whether only one compaction can be at work there.
func hasLocks(p place) bool {
	_, locks := p.(*folder)
	return locks
}

// finishStage takes away what a compaction replaces, and puts its files into their
// places. In this order: readers never see an event twice. It may be done again.
func finishStage(ctx context.Context, p place, c *Commit) error {
	ctx, stop := outlive(ctx, finishWithin)
	defer stop()
	if err := c.checkStaged(ctx, p); err != nil {
		return err
	}
	if err := p.removeAll(ctx, c.Replaces); err != nil {
		return err
	}
	for i := range c.Files {
		f := &c.Files[i]
		err := p.move(ctx, f.staged, f.Path)
		if errors.Is(err, fs.ErrNotExist) { // it is in its place, or lost: verify tells
			err = p.syncDir(path.Dir(f.Path))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return removeStage(ctx, p, c.Staged)
}

// finishWithin bounds the work on readers' view once nobody waits for it any more.
const finishWithin = 30 * time.Second

// outlive returns a context that ends some time after its parent has.
func outlive(parent context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(by, cancel) })
	return ctx, func() { stop(); cancel() }
}

// checkStaged returns an error when a file of a compaction is lost and what it
// replaces is not: nothing may be removed then.
func (c *Commit) checkStaged(ctx context.Context, s store) error {
	staged, err := s.list(ctx, c.Staged)
	if err != nil {
		return err
	}
	placed, err := s.list(ctx, path.Dir(c.Files[0].Path))
	if err != nil {
		return err
	}
	lost := slices.IndexFunc(c.Files, func(f File) bool {
		return !slices.Contains(staged, f.staged) && !slices.Contains(placed, f.Path)
	})
	if lost < 0 || !slices.ContainsFunc(c.Replaces, func(name string) bool { return slices.Contains(placed, name) }) {
		return nil
	}
	return &ManifestError{Path: s.path(c.Files[lost].Path), Problem: "is lost before it came into its place; the files that it replaces are still there"}
}

// removeStage removes a stage and what is left in it.
func removeStage(ctx context.Context, p place, stage string) error {
	names, err := p.list(ctx, stage)
	if err != nil {
		return err
	}
	return p.removeAll(ctx, append(names, stage))
}
