package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// openedFile is one Parquet file, open for reading.
type openedFile struct {
	io.ReaderAt
	io.Closer
	name string // its address, for messages
	size int64
}

// openLive opens a file that the manifest names. While the commit of a compaction
// is being carried out, the file may still stand where it was staged.
func openLive(ctx context.Context, s store, f *File) (*openedFile, error) {
	file, err := s.open(ctx, f.Path)
	if f.staged == "" || !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	file, err = s.open(ctx, f.staged)
	if errors.Is(err, fs.ErrNotExist) { // it has just been put into its place
		return s.open(ctx, f.Path)
	}
	return file, err
}

// storeOf returns the place of a single file, by its path or its address, and the
// file's name there.
func storeOf(ctx context.Context, name string) (store, string, error) {
	if !strings.HasPrefix(name, s3Scheme) {
		return &folder{root: filepath.Dir(name)}, filepath.Base(name), nil
	}
	at, err := parseS3Address(name)
	if err != nil {
		return nil, "", err
	}
	dir, base := "", at.prefix
	if slash := strings.LastIndexByte(base, '/'); slash >= 0 {
		dir, base = base[:slash], base[slash+1:]
	}
	at.prefix = dir
	b, err := at.open(ctx)
	return b, base, err
}

// open opens a file for reading.
func (f *folder) open(_ context.Context, name string) (*openedFile, error) {
	at := f.path(name)
	file, err := os.Open(at)
	if err != nil {
		return nil, storageError("read", at, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(storageError("read", at, err), file.Close())
	}
	return &openedFile{file, file, at, info.Size()}, nil
}
