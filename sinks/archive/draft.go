package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path"
)

// draft writes file i of an intent, some rows of a batch.
func (a *Archive) draft(ctx context.Context, in *intent, i int, b *buffer, rows []uint32) (File, error) {
	file, err := a.place.create(ctx, a.place.draftName(in, i))
	if err != nil {
		return File{}, err
	}
	out := &counter{to: file, hash: sha256.New()}
	buffered := bufio.NewWriterSize(out, 256<<10)
	err = a.encoder.encode(ctx, buffered, b, rows)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return File{}, errors.Join(err, file.drop())
	}
	first, last := b.extent(rows)
	return File{
		Path: in.Files[i], First: first, Last: last, Rows: int64(len(rows)), Bytes: out.bytes,
		SHA256: hex.EncodeToString(out.hash.Sum(nil)), Sums: b.sums(rows),
	}, file.seal()
}

// counter keeps what the manifest says of a file being written.
type counter struct {
	to    io.Writer
	hash  hash.Hash
	bytes int64
}

// Write appends to the file.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.hash.Write(b[:n])
	c.bytes += int64(n)
	return n, err
}

// draftFile is a file on disk under a name that no reader looks at.
type draftFile struct {
	dir  *folder
	name string
	file *os.File
}

// create begins a file.
func (f *folder) create(_ context.Context, name string) (draft, error) {
	if err := f.makeDir(path.Dir(name)); err != nil {
		return nil, err
	}
	file, err := f.createFile(name)
	if err != nil {
		return nil, err
	}
	return &draftFile{f, name, file}, nil
}

// Write appends to the file.
func (d *draftFile) Write(b []byte) (n int, err error) {
	err = d.dir.do("write", d.name, func(string) (err error) {
		n, err = d.file.Write(b)
		return err
	})
	return n, err
}

func (d *draftFile) seal() error { return d.dir.seal(d.name, d.file) }

func (d *draftFile) drop() error { return d.file.Close() }
