package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// fileWriter writes rows that come in the order of a file, as [compareRows] has
// it: the same rows give the same bytes as a batch of their events. It holds one
// row group. It writes one file after the other: begin, add for each row, end.
// After an error the file is worthless; begin starts afresh.
type fileWriter struct {
	encoder *encoder
	buffer  *rowBuffer
	group   []uint32 // the rows of the buffer

	out         *counter
	buffered    *bufio.Writer
	first, last uint64
	before      Row // the last row taken
	counted     *tally
}

func newFileWriter(level int) (*fileWriter, error) {
	x, err := newEncoder(level)
	if err != nil {
		return nil, err
	}
	return &fileWriter{encoder: x, buffer: newRowBuffer()}, nil
}

// begin starts a file of events between two sequences, with more metadata behind
// that of every file.
func (w *fileWriter) begin(out io.Writer, first, last uint64, more ...format.KeyValue) error {
	w.reset()
	w.out = &counter{to: out, hash: sha256.New()}
	w.buffered = bufio.NewWriterSize(w.out, 256<<10)
	w.first, w.last = first, last
	w.before, w.counted = Row{}, newTally()
	return w.encoder.begin(w.buffered, first, last, more...)
}

// add takes the next row and keeps no memory of it but its texts' until the row
// after it. The error is that of the writer, of ctx, or says why the row cannot
// stand there.
func (w *fileWriter) add(ctx context.Context, r *Row) error {
	if err := w.check(r); err != nil {
		return err
	}
	w.group = append(w.group, w.buffer.rows)
	w.buffer.add(r)
	w.counted.add(r)
	w.before = *r
	if len(w.group) == rowGroupRows {
		return w.flush(ctx)
	}
	return nil
}

// check refuses a row that would make the file wrong.
func (w *fileWriter) check(r *Row) error {
	sequence := uint64(r.Sequence)
	switch {
	case sequence < w.first || sequence > w.last:
		return fmt.Errorf("archive: sequence %d in a file of %d to %d", sequence, w.first, w.last)
	case w.counted.rows == 0:
		return nil
	case r.Account != w.before.Account:
		return fmt.Errorf("archive: sequences %d and %d of two accounts in one file", w.before.Sequence, sequence)
	case compareRows(&w.before, r) >= 0:
		return fmt.Errorf("archive: sequence %d out of order behind %d, or doubled", sequence, w.before.Sequence)
	}
	return nil
}

// flush writes the buffer as a row group.
func (w *fileWriter) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.encoder.rowGroup(w.buffer.buffer, w.group); err != nil {
		return err
	}
	w.reset()
	return nil
}

func (w *fileWriter) reset() {
	w.buffer.reset()
	w.group = w.group[:0]
}

// rows returns how many rows the file has so far.
func (w *fileWriter) rows() int64 { return w.counted.rows }

// end completes the file and returns what the manifest says of it, without its
// path.
func (w *fileWriter) end(ctx context.Context) (File, error) {
	if len(w.group) > 0 {
		if err := w.flush(ctx); err != nil {
			return File{}, err
		}
	}
	if err := w.encoder.end(); err != nil {
		return File{}, err
	}
	if err := w.buffered.Flush(); err != nil {
		return File{}, err
	}
	return File{
		First: w.counted.first, Last: w.counted.last, Rows: w.counted.rows, Bytes: w.out.bytes,
		SHA256: hex.EncodeToString(w.out.hash.Sum(nil)), Sums: w.counted.sums(),
	}, nil
}
