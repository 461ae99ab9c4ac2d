package archive

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
)

// folder is a folder on local disk. Names are paths below it, with slashes.
// Every error is a [StorageError].
type folder struct {
	root string
	// drafts holds the small files under way. "": _orderwire/tmp, which is the
	// archiver's: it empties that whenever it likes.
	drafts string
	// before is called ahead of every change, with the absolute path; an error
	// stops the change. Only tests set it.
	before func(op, path string) error
}

// do runs one change.
func (f *folder) do(op, name string, change func(path string) error) error {
	at := f.path(name)
	if f.before != nil {
		if err := f.before(op, at); err != nil {
			return storageError(op, at, err)
		}
	}
	if err := change(at); err != nil {
		return storageError(op, at, err)
	}
	return nil
}

func (f *folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

func (f *folder) exists(name string) bool {
	_, err := os.Lstat(f.path(name))
	return err == nil
}

// makeDir makes a folder and those above it, durably.
func (f *folder) makeDir(name string) error {
	if info, err := os.Stat(f.path(name)); err == nil && info.IsDir() {
		return nil
	}
	if name == "." {
		return f.do("make folder", name, func(at string) error { return os.MkdirAll(at, 0o750) })
	}
	if err := f.makeDir(path.Dir(name)); err != nil {
		return err
	}
	err := f.do("make folder", name, func(at string) error { return os.Mkdir(at, 0o750) })
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process may be as quick
		return err
	}
	return f.syncDir(path.Dir(name))
}

// createFile begins a file, in place of one of that name.
func (f *folder) createFile(name string) (file *os.File, err error) {
	err = f.do("create", name, func(at string) (err error) {
		file, err = os.Create(at)
		return err
	})
	return file, err
}

// seal makes the content of a file durable and closes it.
func (f *folder) seal(name string, file *os.File) error {
	err := f.do("sync", name, func(string) error { return file.Sync() })
	if closed := file.Close(); err == nil && closed != nil {
		return storageError("write", f.path(name), closed)
	}
	return err
}

// rename gives a file its name, in place of one that has it. It is durable only
// after syncDir.
func (f *folder) rename(from, to string) error {
	return f.do("rename to", to, func(at string) error { return os.Rename(f.path(from), at) })
}

// link gives a file a second name; an error wraps [fs.ErrExist] when the name is
// taken. It is durable only after syncDir.
func (f *folder) link(from, to string) error {
	return f.do("link to", to, func(at string) error { return os.Link(f.path(from), at) })
}

// remove deletes a file; one that is not there is no error.
func (f *folder) remove(name string) error {
	return f.do("remove", name, func(at string) error {
		if err := os.Remove(at); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// syncDir makes the names in a folder durable.
func (f *folder) syncDir(name string) error {
	if runtime.GOOS == "windows" { // which cannot, and does not need to
		return nil
	}
	return f.do("sync folder", name, func(at string) error {
		dir, err := os.Open(at)
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	})
}

func (f *folder) syncDirs(names []string) error {
	for _, name := range names {
		if err := f.syncDir(name); err != nil {
			return err
		}
	}
	return nil
}

// put writes a small file, whole or not at all, in place of one of that name.
func (f *folder) put(_ context.Context, name string, data []byte) error {
	temp, err := f.draft(name, data)
	if err != nil {
		return err
	}
	if err := f.rename(temp, name); err != nil {
		return err
	}
	return f.syncDir(path.Dir(name))
}

// putNew is put for a name that must not be taken; the error wraps
// [fs.ErrExist] when it is.
func (f *folder) putNew(_ context.Context, name string, data []byte) error {
	temp, err := f.draft(name, data)
	if err != nil {
		return err
	}
	if err := f.link(temp, name); errors.Is(err, fs.ErrExist) {
		return errors.Join(err, f.remove(temp))
	} else if err != nil {
		return err
	}
	if err := f.syncDir(path.Dir(name)); err != nil {
		return err
	}
	return f.remove(temp)
}

// draft writes a small file under a name that no reader looks at.
func (f *folder) draft(name string, data []byte) (temp string, err error) {
	temp = path.Join(cmp.Or(f.drafts, draftDir), path.Base(name)+".tmp")
	if err := f.makeDir(path.Dir(temp)); err != nil {
		return "", err
	}
	file, err := f.createFile(temp)
	if err != nil {
		return "", err
	}
	if _, err := file.Write(data); err != nil {
		return "", errors.Join(storageError("write", f.path(temp), err), file.Close())
	}
	return temp, f.seal(temp, file)
}

// read returns a small file; the error wraps [fs.ErrNotExist] when there is none.
func (f *folder) read(_ context.Context, name string) ([]byte, error) {
	data, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, storageError("read", f.path(name), err)
	}
	return data, nil
}

// list returns the names of all files below a folder. What goes while it is being
// listed may be missing.
func (f *folder) list(ctx context.Context, dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(f.root), dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil
		case err != nil:
			return storageError("list", f.path(name), reason(err))
		case entry.IsDir() && name == ownDir && dir == ".":
			return fs.SkipDir
		case !entry.IsDir():
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// Close does nothing: every file is closed by its own reader.
func (f *folder) Close() error { return nil }
