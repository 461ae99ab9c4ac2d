package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
)

// enter makes the folders and takes the lock.
func (f *folder) enter(context.Context) (io.Closer, error) {
	for _, name := range []string{".", manifestDir, draftDir} {
		if err := f.makeDir(name); err != nil {
			return nil, err
		}
	}
	lock, err := lockFolder(f)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (f *folder) announce(_ context.Context, in *intent) error {
	document, err := in.encode()
	if err != nil {
		return err
	}
	return f.put(intentName, document)
}

// readIntent returns nil when there is none.
func (f *folder) readIntent(ctx context.Context) (*intent, error) {
	document, err := f.read(ctx, intentName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeIntent(f.path(intentName), document)
}

// settle takes back whatever is in the folder beyond its last commit, and
// returns that commit. It also returns the intent of the batch that was taken
// back: the next commit must be the same batch.
func (f *folder) settle(ctx context.Context, _ *intent) (Commit, *intent, error) {
	head, err := readHead(ctx, f)
	if err != nil {
		return Commit{}, nil, err
	}
	if err := f.dropDrafts(ctx); err != nil {
		return Commit{}, nil, err
	}
	in, err := f.readIntent(ctx)
	if err != nil || in == nil {
		return head, nil, err
	}
	switch {
	case in.Number == head.Number+1 && in.Previous == head.SHA256:
		return head, in, f.takeBack(in, nil)
	case in.Number == head.Number:
		return head, nil, f.finish(in, &head)
	default:
		problem := fmt.Sprintf("is about commit %d, and the last commit is %d", in.Number, head.Number)
		return Commit{}, nil, &ManifestError{Path: f.path(intentName), Problem: problem}
	}
}

// finish does what was left to do after a commit got into the manifest.
func (f *folder) finish(in *intent, head *Commit) error {
	if err := f.syncDir(manifestDir); err != nil {
		return err
	}
	if err := f.takeBack(in, head.Files); err != nil {
		return err
	}
	return f.remove(intentName)
}

// takeBack removes the files of an intent that are not among those of a commit.
func (f *folder) takeBack(in *intent, but []File) error {
	for _, name := range in.Files {
		if slices.ContainsFunc(but, func(c File) bool { return c.Path == name }) || !f.exists(name) {
			continue
		}
		if err := f.remove(name); err != nil {
			return err
		}
		if err := f.syncDir(path.Dir(name)); err != nil {
			return err
		}
	}
	return nil
}

// dropDrafts removes the files that were never finished.
func (f *folder) dropDrafts(ctx context.Context) error {
	names, err := f.names(ctx, draftDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.remove(path.Join(draftDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// conclude removes the intent. The lock has seen to it that there is one only.
func (f *folder) conclude(context.Context, *Commit) error { return f.remove(intentName) }

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
	for _, dir := range dirs {
		if err := f.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// walk calls each for every file outside of the archive's own folder.
func (f *folder) walk(_ context.Context, each func(name string) error) error {
	return fs.WalkDir(os.DirFS(f.root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return storageError("list", f.path(name), reason(err))
		case entry.IsDir() && name == ownDir:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		return each(name)
	})
}
