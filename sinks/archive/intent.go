package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// intent says what is about to be committed. It is durable before the first file
// of the batch gets its name, and goes when the commit is in the manifest.
type intent struct {
	Format   int      `json:"format"`
	Number   uint64   `json:"number"`   // of the commit to be
	Previous string   `json:"previous"` // SHA256 of the commit before it
	First    uint64   `json:"first"`    // sequences of the batch
	Last     uint64   `json:"last"`
	Files    []string `json:"files"` // paths of all files of the batch
	Writer   string   `json:"writer"`
}

// readIntent returns nil when there is none.
func (f *folder) readIntent() (*intent, error) {
	document, err := f.read(intentName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in := new(intent)
	if err := json.Unmarshal(document, in); err != nil {
		return nil, &ManifestError{Path: f.path(intentName), Problem: "is no intent"}
	}
	if in.Format > formatVersion {
		problem := fmt.Sprintf("has format %d, and this program reads up to %d", in.Format, formatVersion)
		return nil, &ManifestError{Path: f.path(intentName), Problem: problem}
	}
	return in, nil
}

func (f *folder) putIntent(in *intent) error {
	document, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return f.put(intentName, append(document, '\n'))
}

// settle takes back whatever is in the folder beyond its last commit, and
// returns that commit. It also returns the intent of the batch that was taken
// back: the next commit must be the same batch.
func (f *folder) settle() (Commit, *intent, error) {
	head, err := f.head()
	if err != nil {
		return Commit{}, nil, err
	}
	if err := f.dropDrafts(); err != nil {
		return Commit{}, nil, err
	}
	in, err := f.readIntent()
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
func (f *folder) dropDrafts() error {
	names, err := f.names(draftDir)
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

// checkEnd looks for files behind the last commit. There are none unless the
// manifest has lost its end, and then the same events would be written twice.
func (f *folder) checkEnd(head *Commit) error {
	return fs.WalkDir(f.fs(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return storageError("list", f.path(name), reason(err))
		case entry.IsDir() && name == ownDir:
			return fs.SkipDir
		}
		if _, last, ok := rangeOf(name); ok && last > head.Last {
			problem := fmt.Sprintf("holds events up to %d, and the manifest ends at %d", last, head.Last)
			return &ManifestError{Path: f.path(name), Problem: problem}
		}
		return nil
	})
}
