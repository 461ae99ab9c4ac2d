package archive

import (
	"context"
	"io"
	"strings"
)

// store is the reader's half of a place. Names are paths below the place, with
// slashes.
type store interface {
	// path returns the whole address of a name, for messages and [ReadFile].
	path(name string) string
	// read returns a small file; the error wraps [fs.ErrNotExist] when there is
	// none.
	read(ctx context.Context, name string) ([]byte, error)
	// names lists one level of a folder in ascending order.
	names(ctx context.Context, name string) ([]string, error)
}

// place is where an archive lives. Whatever a method has done when it returns
// nil is durable.
type place interface {
	store
	// enter makes the place ready for an archiver, which lets go of it by Close.
	enter(ctx context.Context) (io.Closer, error)
	// settle takes back whatever is there beyond the last commit as far as no
	// other archiver may still commit it, and returns that commit. It also
	// returns the intent of a batch that was not finished: the next commit must
	// be the same batch. own is the intent of a commit that has just failed in
	// this process, nil for none.
	settle(ctx context.Context, own *intent) (Commit, *intent, error)
	// announce makes an intent durable.
	announce(ctx context.Context, in *intent) error
	// create begins file i of an intent.
	create(ctx context.Context, in *intent, i int) (draft, error)
	// publish lets readers see all files of an intent, if they do not yet.
	publish(ctx context.Context, in *intent) error
	// putNew writes a small file, whole or not at all; the error wraps
	// [fs.ErrExist] when the name is taken.
	putNew(ctx context.Context, name string, data []byte) error
	// conclude removes the intents that head, the last commit, has decided, and
	// what they leave.
	conclude(ctx context.Context, head *Commit) error
	// walk calls each for every file outside of the archive's own folder.
	walk(ctx context.Context, each func(name string) error) error
}

// draft is a file being written.
type draft interface {
	io.Writer
	// seal makes the content durable and closes the file.
	seal() error
	// drop closes the file without a promise about its content.
	drop() error
}

// storeAt returns the place of an address for reading.
func storeAt(ctx context.Context, address string) (store, error) { return placeAt(ctx, address) }

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
