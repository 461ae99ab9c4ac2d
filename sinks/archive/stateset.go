package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// What a set of states has of its own, beside its files.
const (
	descriptorName = ownDir + "/snapshot.json"
	claimName      = ownDir + "/snapshot.lock" // while it is being written
)

// clearWithin bounds the removal of what a failed snapshot has written.
const clearWithin = 30 * time.Second

// errTaken is the cause of a [StorageError] for a place that is not empty.
var errTaken = errors.New("something is there already")

// stateSet is the place of a set while it is being written.
type stateSet struct {
	place  place
	staged []string // files that are in no reader's sight
	placed []string // files that readers see
}

// check returns a [StorageError] when anything is at the place.
func (s *stateSet) check(ctx context.Context) error {
	for _, dir := range []string{".", ownDir} {
		names, err := s.place.list(ctx, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(names) > 0 {
			return storageError("write a snapshot to", s.place.path(names[0]), errTaken)
		}
	}
	return nil
}

// claim keeps other runs out of the place; the error wraps errTaken when one has
// been quicker.
func (s *stateSet) claim(ctx context.Context) error {
	if f, onDisk := s.place.(*folder); onDisk {
		if err := f.makeDir(draftDir); err != nil {
			return err
		}
	}
	err := s.place.putNew(ctx, claimName, []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"))
	if errors.Is(err, fs.ErrExist) {
		return storageError("write a snapshot to", s.place.path(claimName), errTaken)
	}
	return err
}

// stagedName is where a file stands until all are written.
func stagedName(name string) string {
	return draftName(strings.ReplaceAll(name, "/", "+"))
}

// create begins a file of the set.
func (s *stateSet) create(ctx context.Context, name string) (draft, error) {
	s.staged = append(s.staged, name)
	return s.place.create(ctx, stagedName(name))
}

// publish puts all files into their places, and the descriptor behind them.
func (s *stateSet) publish(ctx context.Context, report *SnapshotReport) error {
	document, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	for _, name := range s.staged {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.placed = append(s.placed, name)
		if err := s.place.move(ctx, stagedName(name), name); err != nil {
			return err
		}
	}
	s.staged = nil
	if err := s.place.putNew(ctx, descriptorName, append(document, '\n')); err != nil {
		return err
	}
	_ = s.tidy(ctx) // the set is whole, whatever is left beside it
	return nil
}

// tidy removes the claim and the folder of what is under way.
func (s *stateSet) tidy(ctx context.Context) error {
	left, err := s.place.list(ctx, draftDir)
	if err != nil {
		return err
	}
	if err := s.place.removeAll(ctx, append(left, claimName)); err != nil {
		return err
	}
	return s.place.removeAll(ctx, []string{draftDir})
}

// empty removes the files that have been written so far.
func (s *stateSet) empty(ctx context.Context) error {
	names, dirs := slices.Clone(s.placed), []string{}
	for _, name := range s.placed {
		dirs = append(dirs, path.Dir(name))
	}
	for _, name := range s.staged {
		names = append(names, stagedName(name))
	}
	if err := s.place.removeAll(ctx, names); err != nil {
		return err
	}
	s.staged, s.placed = nil, nil
	return s.place.removeAll(ctx, dirs)
}

// giveUp removes what this run has written, and returns why.
func (s *stateSet) giveUp(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
	defer cancel()
	err := s.place.removeAll(ctx, []string{descriptorName})
	if err == nil {
		err = s.empty(ctx)
	}
	if err == nil {
		err = s.tidy(ctx)
	}
	if err == nil {
		err = s.place.removeAll(ctx, []string{ownDir})
	}
	if err != nil {
		return errors.Join(cause, fmt.Errorf("and what it had written is still there: %w", err))
	}
	return cause
}
