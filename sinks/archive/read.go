package archive

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
)

// readRows is how many rows are read at once.
const readRows = 256

// Rows reads every event of the archive at a place, commit by commit, each
// file in its own order (program, order, version). It reads what the manifest
// names, so it never sees a batch that is not committed, and may run beside an
// archiver. The first error ends it.
func Rows(ctx context.Context, dir string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		commits, err := ReadManifest(ctx, dir)
		if err != nil {
			yield(Row{}, err)
			return
		}
		s, err := storeAt(ctx, dir)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, c := range commits {
			for _, file := range c.Files {
				for row, err := range ReadFile(ctx, s.path(file.Path)) {
					if !yield(row, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// ReadFile reads the rows of one file. It takes the account from the path. The
// first error ends it: a [StorageError] for a file that cannot be opened, a
// [ManifestError] for one that is damaged.
func ReadFile(ctx context.Context, name string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		file, err := openParquet(ctx, name)
		if err != nil {
			yield(Row{}, err)
			return
		}
		err = readFile(ctx, file, func(r Row) bool { return yield(r, nil) })
		_ = file.Close() // it was only read
		if err != nil {
			yield(Row{}, err)
		}
	}
}

// readFile hands rows over until take wants no more.
func readFile(ctx context.Context, file *openedFile, take func(Row) bool) error {
	content, err := parquet.OpenFile(file, file.size)
	if err != nil {
		return &ManifestError{Path: file.name, Problem: "is no Parquet file", Cause: err}
	}
	reader := parquet.NewGenericReader[Row](content)
	defer func() { _ = reader.Close() }()
	account := accountOf(filepath.ToSlash(file.name))
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
