package archive

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
)

// spillLevel is the zstd level of temporary files.
const spillLevel = 1

// spills are the temporary files of one merge, of which each is removed as soon as
// it has been read. They share a writer.
type spills struct {
	writer *fileWriter
	files  []*spill
}

// spill is a temporary file of rows of one account, held open. That the rows come
// out of the handle lets them survive a tidying of the folder.
type spill struct {
	file    *os.File
	size    int64
	account string
}

// add writes rows into a new file below dir. The error is that of the rows, or a
// [StorageError].
func (t *spills) add(ctx context.Context, dir string, rows iter.Seq2[Row, error]) (*spill, error) {
	if t.writer == nil {
		w, err := newFileWriter(spillLevel)
		if err != nil {
			return nil, err
		}
		t.writer = w
	}
	file, err := os.CreateTemp(dir, "merge-*.tmp")
	if err != nil {
		return nil, storageError("create a temporary file in", dir, err)
	}
	s := &spill{file: file}
	t.files = append(t.files, s)
	return s, s.fill(ctx, t.writer, rows)
}

func (s *spill) fill(ctx context.Context, w *fileWriter, rows iter.Seq2[Row, error]) error {
	out := &spillWriter{s}
	if err := w.begin(out, 0, math.MaxUint64); err != nil {
		return err
	}
	for row, err := range rows {
		if err == nil {
			err = w.add(ctx, &row)
		}
		if err != nil {
			return err
		}
	}
	s.account = w.before.Account
	f, err := w.end(ctx)
	s.size = f.Bytes
	return err
}

// spillWriter appends to a temporary file; its errors are StorageErrors.
type spillWriter struct{ *spill }

// Write appends to the file.
func (w *spillWriter) Write(b []byte) (int, error) {
	n, err := w.file.Write(b)
	if err != nil {
		return n, storageError("write", w.file.Name(), err)
	}
	return n, nil
}

// rows reads the file, once, and removes it.
func (s *spill) rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		defer s.remove()
		opened := &openedFile{s.file, s.file, s.file.Name(), s.size}
		err := readFile(ctx, opened, s.account, func(r Row) bool { return yield(r, nil) })
		var damaged *ManifestError
		if errors.As(err, &damaged) { // which speaks of the archive's own files
			err = storageError("read back", s.file.Name(), damaged.Cause)
		}
		if err != nil {
			yield(Row{}, err)
		}
	}
}

// remove closes and deletes the file. A second time does nothing.
func (s *spill) remove() {
	if s.file.Close() == nil {
		_ = os.Remove(s.file.Name()) // or somebody has tidied up
	}
}

func (t *spills) remove() {
	for _, s := range t.files {
		s.remove()
	}
}
