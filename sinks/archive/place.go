package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// store is the reader's half of a place. Names are paths below the place, with
// slashes.
type store interface {
	io.Closer
	// path returns the whole address of a name, for messages and [ReadFile].
	path(name string) string
	// read returns a small file; the error wraps [fs.ErrNotExist] when there is
	// none.
	read(ctx context.Context, name string) ([]byte, error)
	// open opens a Parquet file, with the same error.
	open(ctx context.Context, name string) (*openedFile, error)
	// list returns the names of all files below a folder in ascending order; none
	// when there is no such folder. For the folder "." the archive's own files are
	// left out.
	list(ctx context.Context, dir string) ([]string, error)
}

// place is where an archive lives. Whatever a method has done when it returns
// nil is durable.
type place interface {
	store
	keeper
	// enter makes the place ready for an archiver, which lets go of it by Close.
	enter(ctx context.Context) (io.Closer, error)
	// settle takes back whatever is there beyond the last commit as far as no
	// other archiver may still commit it, and returns that commit. It also
	// returns the intent of a batch that was not finished: the next commit must
	// be the same batch. own is the intent of a commit that has just failed in
	// this process, nil for none.
	settle(ctx context.Context, own *intent) (Commit, *intent, error)
	// draftName returns the name under which file i of an intent is created.
	draftName(in *intent, i int) string
	// publish lets readers see all files of an intent, if they do not yet.
	publish(ctx context.Context, in *intent) error
	// conclude removes the intents that head, the last commit, has decided, and
	// what they leave.
	conclude(ctx context.Context, head *Commit) error
}

// keeper changes single files of a place.
type keeper interface {
	// create begins a file, in place of one of that name.
	create(ctx context.Context, name string) (draft, error)
	// put writes a small file, whole or not at all, in place of one of that name.
	put(ctx context.Context, name string, data []byte) error
	// putNew is put for a name that must not be taken; the error wraps
	// [fs.ErrExist] when it is.
	putNew(ctx context.Context, name string, data []byte) error
	// move gives a file another name; the error wraps [fs.ErrNotExist] when there
	// is none. Readers see it at once under the new name.
	move(ctx context.Context, from, to string) error
	// removeAll deletes files, or folders that have become empty; one that is not
	// there is no error.
	removeAll(ctx context.Context, names []string) error
	// syncDir makes the names in a folder durable.
	syncDir(name string) error
	// lock keeps other processes from taking the lock of that name, where the
	// place has locks. The error is a [LockedError] when another one has it.
	lock(name string) (io.Closer, error)
}

// draft is a file being written.
type draft interface {
	io.Writer
	// seal makes the content durable and closes the file.
	seal() error
	// drop closes the file without a promise about its content.
	drop() error
}

// placeAt returns the place of an address: s3://bucket/prefix, or a folder. The
// error is a [ConfigError] for a wrong address.
func placeAt(ctx context.Context, address string) (place, error) {
	if !strings.HasPrefix(address, s3Scheme) {
		return &folder{root: address}, nil
	}
	at, err := parseS3Address(address)
	if err != nil {
		return nil, err
	}
	return at.open(ctx)
}

// archiveAt returns the place of an address at which there is an archive, for
// reading. The error wraps [ErrNoArchive] when there is none.
func archiveAt(ctx context.Context, address string) (store, error) {
	s, err := placeAt(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := checkMarked(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// markName is a file that tells an archive without commits from a wrong address.
const markName = ownDir + "/archive.json"

var mark = []byte("{\"format\":1}\n")

// setMark marks a place as that of an archive.
func setMark(ctx context.Context, p place) error {
	_, err := p.read(ctx, markName)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = p.putNew(ctx, markName, mark)
	if errors.Is(err, fs.ErrExist) { // in a bucket, another archiver may be as quick
		return nil
	}
	return err
}

// checkMarked returns an error that wraps [ErrNoArchive] when there is neither the
// mark nor a commit.
func checkMarked(ctx context.Context, s store) error {
	_, err := s.read(ctx, markName)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, err := s.list(ctx, manifestDir)
	if err == nil && len(names) == 0 {
		return storageError("open", s.path("."), ErrNoArchive)
	}
	return err
}

// isHidden reports whether readers of Parquet data pass a file over: by a name that
// begins with a dot or an underscore, unless it ends as such files do.
func isHidden(name string) bool {
	return strings.ContainsRune("._", rune(path.Base(name)[0])) && !strings.HasSuffix(name, extension)
}
