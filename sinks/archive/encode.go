package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go/format"

	"github.com/orderwire/orderwire/sinks/archive/internal/parquetfile"
)

// WriterVersion counts the changes of the bytes that the same events give. Each
// file and each commit names the version that wrote it.
const WriterVersion = "1"

// rowGroupRows is the number of rows in a row group, a multiple of
// [parquetfile.PageRows].
const rowGroupRows = 8 * parquetfile.PageRows

// The keys of a file's metadata.
const (
	metaSchema = "orderwire.schema_version"
	metaWriter = "orderwire.writer"
	metaFirst  = "orderwire.first_sequence"
	metaLast   = "orderwire.last_sequence"
)

// encoder writes parts of a buffer as files.
type encoder struct {
	file    *parquetfile.Encoder
	rows    slots
	lines   slots
	changes slots
	gather  gatherer
}

func newEncoder(level int) (*encoder, error) {
	file, err := parquetfile.New(parquetfile.Options{
		Schema: fileSchema, CreatedBy: "orderwire version " + WriterVersion, Level: level,
		SortedBy: sortedBy, Bloom: []string{"order_sn"},
	})
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return &encoder{file: file}, nil
}

// encode writes rows of a buffer, which are in their order already.
func (x *encoder) encode(ctx context.Context, out io.Writer, b *buffer, rows []uint32) error {
	first, last := b.extent(rows)
	if err := x.begin(out, first, last); err != nil {
		return err
	}
	for group := range slices.Chunk(rows, rowGroupRows) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.rowGroup(b, group); err != nil {
			return err
		}
	}
	return x.end()
}

// begin starts a file of events between two sequences, with more metadata behind
// that of every file.
func (x *encoder) begin(out io.Writer, first, last uint64, more ...format.KeyValue) error {
	return x.file.Begin(out, append([]format.KeyValue{
		{Key: metaSchema, Value: strconv.Itoa(SchemaVersion)},
		{Key: metaWriter, Value: WriterVersion},
		{Key: metaFirst, Value: strconv.FormatUint(first, 10)},
		{Key: metaLast, Value: strconv.FormatUint(last, 10)},
	}, more...)...)
}

// end completes the file.
func (x *encoder) end() error { return x.file.End() }

// rowGroup writes rows of a buffer as the next row group.
func (x *encoder) rowGroup(b *buffer, rows []uint32) error {
	x.rows.flat(rows)
	x.lines.nested(&b.lines, rows)
	x.changes.nested(&b.changes, rows)
	return x.file.RowGroup(len(rows), func(i int) *parquetfile.Column {
		l := b.leaves[i]
		switch l.list {
		case &b.lines:
			return x.gather.gather(l.column, &x.lines)
		case &b.changes:
			return x.gather.gather(l.column, &x.changes)
		default:
			return x.gather.gather(l.column, &x.rows)
		}
	})
}

// extent returns the least and the greatest sequence of some rows.
func (b *buffer) extent(rows []uint32) (first, last uint64) {
	low, high := slices.Min(rows), slices.Max(rows)
	sequences := b.column("sequence").numbers
	return uint64(sequences[low]), uint64(sequences[high])
}
