package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
)

// heldBytes is the size up to which an object is held in memory while it is read;
// a larger one is fetched into a temporary file.
const heldBytes = 4 << 20

// open fetches an object.
func (b *bucket) open(ctx context.Context, name string) (*openedFile, error) {
	in, err := b.bucket.NewReader(ctx, name, nil)
	if err != nil {
		return nil, s3Error("read", b.path(name), err)
	}
	defer func() { _ = in.Close() }() // it was only read
	if in.Size() <= heldBytes {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, s3Error("read", b.path(name), err)
		}
		return &openedFile{bytes.NewReader(data), io.NopCloser(nil), b.path(name), int64(len(data))}, nil
	}
	return b.fetch(name, in)
}

// fetch copies an object into a temporary file, which goes when it is closed.
func (b *bucket) fetch(name string, in io.Reader) (*openedFile, error) {
	file, err := newTempFile("", "orderwire-fetch-*.tmp")
	if err != nil {
		return nil, storageError("create a temporary file in", os.TempDir(), err)
	}
	size, err := io.Copy(&spooledFile{file}, &objectReader{b, name, in})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &openedFile{file, file, b.path(name), size}, nil
}

// objectReader gives the store's errors their place.
type objectReader struct {
	of   *bucket
	name string
	in   io.Reader
}

// Read reads on in the object.
func (r *objectReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s3Error("read", r.of.path(r.name), err)
	}
	return n, err
}

// spooledFile gives a temporary file's errors their place.
type spooledFile struct{ file *tempFile }

// Write appends to the file.
func (f *spooledFile) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if err != nil {
		err = storageError("write", f.file.Name(), err)
	}
	return n, err
}
