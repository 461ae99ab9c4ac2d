package archive

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
)

// enter makes the folders and takes the lock.
func (f *folder) enter(ctx context.Context) (io.Closer, error) {
	for _, name := range []string{".", manifestDir, intentDir, draftDir} {
		if err := f.makeDir(name); err != nil {
			return nil, err
		}
	}
	lock, err := f.lock(lockName)
	if err != nil {
		return nil, err
	}
	if err := setMark(ctx, f); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// settle takes back whatever is in the folder beyond its last commit, and
// returns that commit. It also returns the intent of the batch that was taken
// back: the next commit must be the same batch.
func (f *folder) settle(ctx context.Context, _ *intent) (head Commit, repeat *intent, err error) {
	if head, err = readHead(ctx, f); err != nil {
		return Commit{}, nil, err
	}
	if err := f.dropDrafts(ctx); err != nil {
		return Commit{}, nil, err
	}
	intents, err := readIntents(ctx, f)
	if err != nil {
		return Commit{}, nil, err
	}
	for _, in := range intents {
		switch {
		case !in.fits(&head):
			err = in.unfit(f, &head)
		case head.decides(in):
			err = f.finish(ctx, in, &head)
		default:
			repeat, err = in, f.removeAll(ctx, in.Files)
		}
		if err != nil {
			return Commit{}, nil, err
		}
	}
	return head, repeat, nil
}

// finish does what was left to do after a commit got into the manifest.
func (f *folder) finish(ctx context.Context, in *intent, head *Commit) error {
	if err := f.syncDir(manifestDir); err != nil {
		return err
	}
	left, err := in.left(ctx, f, head)
	if err != nil {
		return err
	}
	if err := f.removeAll(ctx, left); err != nil {
		return err
	}
	return f.remove(in.name())
}

// removeAll deletes files, and folders behind what was in them, durably.
func (f *folder) removeAll(_ context.Context, names []string) error {
	var dirs []string
	for _, name := range names {
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == name })
		if !f.exists(name) {
			continue
		}
		if err := f.remove(name); err != nil {
			return err
		}
		if dir := path.Dir(name); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return f.syncDirs(dirs)
}

// move renames a file that is durable already.
func (f *folder) move(_ context.Context, from, to string) error {
	if err := f.makeDir(path.Dir(to)); err != nil {
		return err
	}
	if err := f.rename(from, to); err != nil {
		return err
	}
	return f.syncDirs([]string{path.Dir(to), path.Dir(from)})
}

// dropDrafts removes the files that were never finished.
func (f *folder) dropDrafts(ctx context.Context) error {
	names, err := f.list(ctx, draftDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.remove(name); err != nil {
			return err
		}
	}
	return nil
}

// conclude removes the intents that head has decided. The lock has seen to it
// that all their files were committed.
func (f *folder) conclude(ctx context.Context, head *Commit) error {
	intents, err := readIntents(ctx, f)
	if err != nil {
		return err
	}
	for _, in := range intents {
		if !head.decides(in) {
			continue
		}
		if err := f.remove(in.name()); err != nil {
			return err
		}
	}
	return nil
}

// publish gives all files of a batch their names. From here on readers see them.
func (f *folder) publish(_ context.Context, in *intent) error {
	var dirs []string
	for i, name := range in.Files {
		dir := path.Dir(name)
		if err := f.makeDir(dir); err != nil {
			return err
		}
		if err := f.rename(draftName(strconv.Itoa(i)), name); err != nil {
			return err
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return f.syncDirs(dirs)
}

// draftName is that of a file that publish gives its own name.
func (f *folder) draftName(_ *intent, i int) string { return draftName(strconv.Itoa(i)) }
