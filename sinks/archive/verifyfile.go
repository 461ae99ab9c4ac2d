package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// hashFile reads a file's size and hash.
func hashFile(ctx context.Context, name string) (size int64, sum string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	h := sha256.New()
	size, err = io.Copy(h, &stoppableReader{ctx, file})
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// stoppableReader ends with the context; it lives for one call.
type stoppableReader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no place for it
	r   io.Reader
}

// Read reads unless the context has ended.
func (s *stoppableReader) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

// checkFile proves one file and hands its rows over. A file
// that is not as it was written hands over none.
func (v *verifier) checkFile(ctx context.Context, c *Commit, f *File, take func(*Row)) error {
	if !fs.ValidPath(f.Path) || !c.places(f) {
		v.found.add(WrongRows, f.Path, fmt.Sprintf("is no name of a file of sequences %d to %d", c.First, c.Last), restoreEntry)
		return nil
	}
	sound, err := v.checkBytes(ctx, f)
	if !sound || err != nil {
		return err
	}
	counted, inOrder, date := newTally(), true, dateOf(f.Path)
	var before *Row
	var misplaced int64
	for r, err := range ReadFile(ctx, v.dir.path(f.Path)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.found.add(DamagedFile, f.Path, "cannot be read as a Parquet file of events", restoreFile)
			return nil
		}
		counted.add(&r)
		if r.ObservedAt.UTC().Format(time.DateOnly) != date {
			misplaced++
		}
		inOrder = inOrder && (before == nil || compareRows(before, &r) < 0)
		before = &r
		take(&r)
	}
	v.found.Files++
	v.found.Rows += counted.rows
	v.checkTally(f, counted, misplaced, inOrder)
	return nil
}

// places reports whether a file's path is one of this commit's.
func (c *Commit) places(f *File) bool {
	first, last, ok := rangeOf(f.Path)
	dir := path.Dir(f.Path)
	_, err := time.Parse(time.DateOnly, dateOf(f.Path))
	return ok && err == nil && first == c.First && last == c.Last &&
		strings.HasPrefix(dir, accountPrefix) && strings.Count(dir, "/") == 1
}

// dateOf reads the date from the path of a file.
func dateOf(file string) string {
	return strings.TrimPrefix(path.Base(path.Dir(file)), datePrefix)
}

// checkBytes holds size and hash of a file to the manifest.
func (v *verifier) checkBytes(ctx context.Context, f *File) (bool, error) {
	size, sum, err := hashFile(ctx, v.dir.path(f.Path))
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		v.found.add(MissingFile, f.Path, fmt.Sprintf("is missing, with %d events between %d and %d", f.Rows, f.First, f.Last), restoreFile)
	case err != nil:
		v.found.add(DamagedFile, f.Path, fmt.Sprintf("cannot be read: %v", reason(err)), restoreFile)
	case sum == f.SHA256 && size == f.Bytes:
		return true, nil
	case v.byHash[sum] != "" && v.byHash[sum] != f.Path:
		v.found.add(OtherFile, f.Path, "holds the bytes of "+v.byHash[sum], restoreFile)
	case size != f.Bytes:
		v.found.add(DamagedFile, f.Path, fmt.Sprintf("has %d bytes, and was written with %d", size, f.Bytes), restoreFile)
	default:
		v.found.add(DamagedFile, f.Path, "has been changed: its hash is another", restoreFile)
	}
	return false, nil
}

// checkTally holds what the rows come to against the manifest.
func (v *verifier) checkTally(f *File, t *tally, misplaced int64, inOrder bool) {
	wrong := func(format string, args ...any) {
		v.found.add(WrongRows, f.Path, fmt.Sprintf(format, args...), "the file is as it was written, so one of the two was written wrong: keep both and report it")
	}
	if t.rows != f.Rows {
		wrong("has %d rows, and the manifest counts %d", t.rows, f.Rows)
	}
	if t.first != f.First || t.last != f.Last {
		wrong("holds sequences %d to %d, and the manifest says %d to %d", t.first, t.last, f.First, f.Last)
	}
	if misplaced > 0 {
		wrong("has %d rows of another date than its partition", misplaced)
	}
	if !inOrder {
		wrong("has rows out of order")
	}
	if f.Sums == nil {
		v.found.WithoutSums++
	} else if field := t.sums().differ(f.Sums); field != "" {
		wrong("comes to other sums than the manifest: %s", field)
	}
}

// compareRows is the order of the rows of a file. A row without a program comes
// last.
func compareRows(a, b *Row) int {
	var c int
	switch {
	case a.ProgramID != nil && b.ProgramID != nil:
		c = cmp.Compare(*a.ProgramID, *b.ProgramID)
	case a.ProgramID != nil:
		c = -1
	case b.ProgramID != nil:
		c = 1
	}
	return cmp.Or(c, cmp.Compare(a.OrderSn, b.OrderSn), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Sequence, b.Sequence))
}
