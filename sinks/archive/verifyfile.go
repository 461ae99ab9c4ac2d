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
	"path"
	"strings"
	"time"
)

// hash reads the whole file and returns its hash.
func (f *openedFile) hash(ctx context.Context) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, &stoppableReader{ctx, io.NewSectionReader(f, 0, f.size)})
	return hex.EncodeToString(h.Sum(nil)), err
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

// checkFile proves one file and hands its rows over. A file that is not as it was
// written hands over none.
func (v *verifier) checkFile(ctx context.Context, f *File, take func(*Row)) error {
	if c := &v.entries[v.owner[f.Path]]; !fs.ValidPath(f.Path) || !c.places(f) {
		v.found.add(WrongRows, f.Path, fmt.Sprintf("is no name of a file of sequences %d to %d", f.First, f.Last), restoreEntry)
		return nil
	}
	file, err := v.openFile(ctx, f)
	if file == nil || err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	sound, err := v.checkBytes(ctx, f, file)
	if !sound || err != nil {
		return err
	}
	r := fileCheck{tally: newTally(), date: dateOf(f.Path), inOrder: true}
	err = readFile(ctx, file, accountOf(f.Path), func(row Row) bool {
		r.add(&row)
		take(&row)
		return true
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.found.add(DamagedFile, f.Path, "cannot be read as a Parquet file of events", restoreFile)
		return nil
	}
	v.found.Files++
	v.found.Rows += r.tally.rows
	v.checkTally(f, &r)
	return nil
}

// openFile opens a file, nil when it cannot and that has been found.
func (v *verifier) openFile(ctx context.Context, f *File) (*openedFile, error) {
	file, err := openUnreplaced(ctx, v.place, f)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrReplaced):
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		v.found.add(MissingFile, f.Path, fmt.Sprintf("is missing, with %d events between %d and %d", f.Rows, f.First, f.Last), restoreFile)
		return nil, nil
	case err != nil:
		v.found.add(DamagedFile, f.Path, fmt.Sprintf("cannot be read: %v", reason(errors.Unwrap(err))), restoreFile)
		return nil, nil
	}
	return file, nil
}

// fileCheck is what the rows of a file come to.
type fileCheck struct {
	tally     *tally
	date      string // of the partition
	misplaced int64  // rows of another date
	inOrder   bool
	before    *Row
}

func (r *fileCheck) add(row *Row) {
	r.tally.add(row)
	if row.ObservedAt.UTC().Format(time.DateOnly) != r.date {
		r.misplaced++
	}
	r.inOrder = r.inOrder && (r.before == nil || compareRows(r.before, row) < 0)
	r.before = row
}

// places reports whether a file's path is one of this commit's. The files of a
// compaction bear the ranges of those that they replace.
func (c *Commit) places(f *File) bool {
	first, last, ok := rangeOf(f.Path)
	if c.IsCompaction() {
		ok = ok && first <= f.First && last >= f.Last && last <= c.Last
	} else {
		ok = ok && first == c.First && last == c.Last
	}
	dir := path.Dir(f.Path)
	_, err := time.Parse(time.DateOnly, dateOf(f.Path))
	return ok && err == nil &&
		strings.HasPrefix(dir, accountPrefix) && strings.Count(dir, "/") == 1
}

// dateOf reads the date from the path of a file.
func dateOf(file string) string {
	return strings.TrimPrefix(path.Base(path.Dir(file)), datePrefix)
}

// checkBytes holds size and hash of a file to the manifest.
func (v *verifier) checkBytes(ctx context.Context, f *File, file *openedFile) (bool, error) {
	sum, err := file.hash(ctx)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		v.found.add(DamagedFile, f.Path, fmt.Sprintf("cannot be read: %v", reason(err)), restoreFile)
	case sum == f.SHA256 && file.size == f.Bytes:
		return true, nil
	case v.byHash[sum] != "" && v.byHash[sum] != f.Path:
		v.found.add(OtherFile, f.Path, "holds the bytes of "+v.byHash[sum], restoreFile)
	case file.size != f.Bytes:
		v.found.add(DamagedFile, f.Path, fmt.Sprintf("has %d bytes, and was written with %d", file.size, f.Bytes), restoreFile)
	default:
		v.found.add(DamagedFile, f.Path, "has been changed: its hash is another", restoreFile)
	}
	return false, nil
}

// checkTally holds what the rows come to against the manifest.
func (v *verifier) checkTally(f *File, r *fileCheck) {
	t := r.tally
	wrong := func(format string, args ...any) {
		v.found.add(WrongRows, f.Path, fmt.Sprintf(format, args...), "the file is as it was written, so one of the two was written wrong: keep both and report it")
	}
	if t.rows != f.Rows {
		wrong("has %d rows, and the manifest counts %d", t.rows, f.Rows)
	}
	if t.first != f.First || t.last != f.Last {
		wrong("holds sequences %d to %d, and the manifest says %d to %d", t.first, t.last, f.First, f.Last)
	}
	if r.misplaced > 0 {
		wrong("has %d rows of another date than its partition", r.misplaced)
	}
	if !r.inOrder {
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
	return cmp.Or(compareOrders(a, b), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Sequence, b.Sequence))
}

// compareOrders is the order of orders in a file.
func compareOrders(a, b *Row) int {
	var c int
	switch {
	case a.ProgramID != nil && b.ProgramID != nil:
		c = cmp.Compare(*a.ProgramID, *b.ProgramID)
	case a.ProgramID != nil:
		c = -1
	case b.ProgramID != nil:
		c = 1
	}
	return cmp.Or(c, cmp.Compare(a.OrderSn, b.OrderSn))
}
