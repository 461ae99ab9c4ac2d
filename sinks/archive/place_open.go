package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strings"
)

// openedFile is one Parquet file, open for reading.
type openedFile struct {
	io.ReaderAt
	io.Closer
	name string
	size int64
}

// openParquet opens a file by its path or its address. One of a bucket is held in
// memory, where it takes about a tenth of its batch.
func openParquet(ctx context.Context, name string) (*openedFile, error) {
	if strings.HasPrefix(name, s3Scheme) {
		return fetchFile(ctx, name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, storageError("read", name, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(storageError("read", name, err), file.Close())
	}
	return &openedFile{file, file, name, info.Size()}, nil
}

func fetchFile(ctx context.Context, address string) (*openedFile, error) {
	at, err := parseS3Address(address)
	if err != nil {
		return nil, err
	}
	full := at.prefix
	at.prefix = strings.Trim(path.Dir(full), "./")
	b, err := at.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }() // it was only read
	data, err := b.bucket.ReadAll(ctx, path.Base(full))
	if err != nil {
		return nil, s3Error("read", address, err)
	}
	return &openedFile{bytes.NewReader(data), io.NopCloser(nil), s3Scheme + at.bucket + "/" + full, int64(len(data))}, nil
}
