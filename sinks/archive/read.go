package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// readRows is how many rows are read at once.
const readRows = 256

// Rows reads every event of the archive at a place, file by file in the order of
// [Live], each file in its own order (program, order, version). It reads what the
// manifest names, so it never sees a batch that is not committed, and may run
// beside an archiver. The first error ends it; it wraps [ErrReplaced] when a
// compaction has replaced a file before it was read.
func Rows(ctx context.Context, dir string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		s, err := archiveAt(ctx, dir)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer func() { _ = s.Close() }() // it was only read
		commits, err := readManifest(ctx, s)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, f := range Live(commits) {
			for row, err := range liveRows(ctx, s, &f) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// liveRows reads the rows of a file that the manifest names. The first error ends
// it.
func liveRows(ctx context.Context, s store, f *File) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		file, err := openUnreplaced(ctx, s, f)
		if err != nil {
			yield(Row{}, err)
			return
		}
		readAll(ctx, file, accountOf(f.Path), yield)
	}
}

// openUnreplaced is openLive with an error that wraps [ErrReplaced] for a file that
// a compaction has taken away since the manifest was read.
func openUnreplaced(ctx context.Context, s store, f *File) (*openedFile, error) {
	file, err := openLive(ctx, s, f)
	if errors.Is(err, fs.ErrNotExist) && isReplaced(ctx, s, f) {
		err = storageError("read", s.path(f.Path), ErrReplaced)
	}
	return file, err
}

// isReplaced reports whether a compaction has taken a file away since the manifest
// was read.
func isReplaced(ctx context.Context, s store, f *File) bool {
	commits, err := readManifest(ctx, s)
	return err == nil && !slices.ContainsFunc(Live(commits), func(l File) bool { return l.Path == f.Path })
}

// ReadFile reads the rows of one file. It takes the account from the path. The
// first error ends it: a [StorageError] for a file that cannot be opened, a
// [ManifestError] for one that is damaged.
func ReadFile(ctx context.Context, name string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		s, base, err := storeOf(ctx, name)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer func() { _ = s.Close() }() // it was only read
		file, err := s.open(ctx, base)
		if err != nil {
			yield(Row{}, err)
			return
		}
		readAll(ctx, file, accountOf(plainPath(name)), yield)
	}
}

// plainPath returns the path in a file's path or address, with slashes.
func plainPath(name string) string {
	if at, err := parseS3Address(name); err == nil && strings.HasPrefix(name, s3Scheme) {
		return at.prefix
	}
	return filepath.ToSlash(name)
}

// readAll hands over all rows of a file, and closes it.
func readAll(ctx context.Context, file *openedFile, account string, yield func(Row, error) bool) {
	err := readFile(ctx, file, account, func(r Row) bool { return yield(r, nil) })
	_ = file.Close() // it was only read
	if err != nil {
		yield(Row{}, err)
	}
}

// readFile hands rows over until take wants no more.
func readFile(ctx context.Context, file *openedFile, account string, take func(Row) bool) error {
	content, err := parquet.OpenFile(file, file.size)
	if err != nil {
		return &ManifestError{Path: file.name, Problem: "is no Parquet file", Cause: err}
	}
	reader := parquet.NewGenericReader[Row](content)
	defer func() { _ = reader.Close() }()
	rows := make([]Row, readRows)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(rows) // so that no two rows share memory
		n, err := reader.Read(rows)
		for _, r := range rows[:n] {
			r.Account = account
			if !take(r) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &ManifestError{Path: file.name, Problem: "is damaged", Cause: err}
		}
	}
}
