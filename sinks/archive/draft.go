package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"os"
)

// draft writes a file under a name that no reader looks at.
func (a *Archive) draft(ctx context.Context, name, temp string, rows []uint32) (File, error) {
	file, err := a.dir.create(temp)
	if err != nil {
		return File{}, err
	}
	out := &draftFile{dir: a.dir, name: temp, file: file, hash: sha256.New()}
	buffered := bufio.NewWriterSize(out, 256<<10)
	err = a.encoder.encode(ctx, buffered, a.buffer, rows)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return File{}, errors.Join(err, file.Close())
	}
	first, last := a.buffer.extent(rows)
	return File{
		Path: name, First: first, Last: last, Rows: int64(len(rows)), Bytes: out.bytes,
		SHA256: hex.EncodeToString(out.hash.Sum(nil)), Sums: a.buffer.sums(rows),
	}, a.dir.seal(temp, file)
}

// draftFile is a file being written, with what the manifest says of it.
type draftFile struct {
	dir   *folder
	name  string
	file  *os.File
	hash  hash.Hash
	bytes int64
}

// Write appends to the file.
func (d *draftFile) Write(b []byte) (n int, err error) {
	err = d.dir.do("write", d.name, func(string) (err error) {
		n, err = d.file.Write(b)
		return err
	})
	d.hash.Write(b[:n])
	d.bytes += int64(n)
	return n, err
}
