package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic opens and closes every file.
const magic = "PAR1"

// Options are what all files of an [Encoder] have in common.
type Options struct {
	// Schema gives the columns. A text leaf that asks for DELTA_BYTE_ARRAY gets
	// it; all other encodings follow from the values that a [Column] holds.
	Schema *parquet.Schema
	// CreatedBy names the writer: "name version 1".
	CreatedBy string
	// Level is a zstd level, 1 to 22. The library knows four and takes the
	// nearest.
	Level int
	// SortedBy are the leaf columns by which the rows of each row group ascend,
	// nulls last. The encoder writes this down and trusts it.
	SortedBy []string
	// Bloom are the text columns that get a bloom filter in each row group.
	Bloom []string
}

// Encoder writes one file after the other: Begin, RowGroup as often as needed,
// End. It keeps its memory from file to file and serves one goroutine. After an
// error the file is worthless; Begin starts afresh.
type Encoder struct {
	options  Options
	template format.FileMetaData // schema and column orders
	leaves   []leaf
	sorting  []format.SortingColumn
	zip      *zstd.Encoder

	out      io.Writer
	offset   int64
	footer   format.FileMetaData
	indexes  [][]pageIndex // by row group and leaf
	scratch  scratch
	protocol thrift.CompactProtocol
}

// leaf is what the encoder knows of a leaf column.
type leaf struct {
	path    []string
	typ     parquet.Type
	kind    parquet.Kind
	prefix  bool // texts are written as prefix lengths and suffixes
	bloom   bool
	repeats int // greatest repetition level
	defines int // greatest definition level
}

// New checks the options. The error says which column or level is wrong.
func New(o Options) (*Encoder, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true),
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(o.Level)), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, fmt.Errorf("parquet: zstd: %w", err)
	}
	e := &Encoder{options: o, zip: zip}
	if err := e.readTemplate(); err != nil {
		return nil, err
	}
	for _, path := range o.Schema.Columns() {
		e.leaves = append(e.leaves, e.newLeaf(path))
	}
	for _, name := range o.SortedBy {
		found, exists := o.Schema.Lookup(strings.Split(name, ".")...)
		if !exists {
			return nil, fmt.Errorf("parquet: the sort column %s is not in the schema", name)
		}
		e.sorting = append(e.sorting, format.SortingColumn{ColumnIdx: int32(found.ColumnIndex)})
	}
	return e, nil
}

func (e *Encoder) newLeaf(path []string) leaf {
	found, _ := e.options.Schema.Lookup(path...)
	node := found.Node
	return leaf{
		path: path, typ: node.Type(), kind: node.Type().Kind(),
		prefix:  node.Encoding() != nil && node.Encoding().Encoding() == format.DeltaByteArray,
		bloom:   slices.Contains(e.options.Bloom, strings.Join(path, ".")),
		repeats: found.MaxRepetitionLevel, defines: found.MaxDefinitionLevel,
	}
}

// readTemplate lets parquet-go put the schema into the terms of the format.
func (e *Encoder) readTemplate() error {
	var empty bytes.Buffer
	if err := parquet.NewWriter(&empty, e.options.Schema).Close(); err != nil {
		return fmt.Errorf("parquet: schema: %w", err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(empty.Bytes()), int64(empty.Len()))
	if err != nil {
		return fmt.Errorf("parquet: schema: %w", err)
	}
	e.template = *f.Metadata()
	return nil
}

// Begin starts a file with pairs of metadata, which stand in it in this order.
func (e *Encoder) Begin(out io.Writer, metadata ...format.KeyValue) error {
	e.out, e.offset, e.indexes = out, 0, nil
	e.footer = format.FileMetaData{
		Version: 2, Schema: e.template.Schema, ColumnOrders: e.template.ColumnOrders,
		CreatedBy: e.options.CreatedBy, KeyValueMetadata: metadata,
	}
	return e.write([]byte(magic))
}

// RowGroup writes a number of rows. It asks for each leaf column in the order
// of the schema, and is done with a column when it asks for the next.
func (e *Encoder) RowGroup(rows int, column func(leaf int) *Column) error {
	group := format.RowGroup{
		NumRows: int64(rows), SortingColumns: e.sorting, FileOffset: e.offset,
		Ordinal: int16(len(e.footer.RowGroups)), Columns: make([]format.ColumnChunk, len(e.leaves)),
	}
	indexes := make([]pageIndex, len(e.leaves))
	filters := make([][]byte, len(e.leaves))
	for i := range e.leaves {
		c := chunk{Encoder: e, leaf: &e.leaves[i], values: column(i)}
		if err := c.write(); err != nil {
			return fmt.Errorf("parquet: column %s: %w", strings.Join(e.leaves[i].path, "."), err)
		}
		group.Columns[i] = format.ColumnChunk{MetaData: c.meta}
		group.TotalByteSize += c.meta.TotalUncompressedSize
		group.TotalCompressedSize += c.meta.TotalCompressedSize
		indexes[i], filters[i] = c.index, c.leaf.filter(c.values)
	}
	if err := e.writeFilters(group.Columns, filters); err != nil {
		return err
	}
	e.footer.RowGroups = append(e.footer.RowGroups, group)
	e.footer.NumRows += group.NumRows
	e.indexes = append(e.indexes, indexes)
	return nil
}

// End writes the page index and the footer.
func (e *Encoder) End() error {
	if err := e.writeIndexes(); err != nil {
		return err
	}
	_, length, err := e.place(&e.footer)
	if err != nil {
		return err
	}
	return e.write(append(binary.LittleEndian.AppendUint32(nil, uint32(length)), magic...))
}

// place writes a structure of the format and says where it stands.
func (e *Encoder) place(v any) (offset int64, length int32, err error) {
	b, err := thrift.Marshal(&e.protocol, v)
	if err != nil {
		return 0, 0, fmt.Errorf("parquet: %w", err)
	}
	offset = e.offset
	return offset, int32(len(b)), e.write(b)
}

func (e *Encoder) write(b []byte) error {
	if e.out == nil {
		return errors.New("parquet: no file has been begun")
	}
	n, err := e.out.Write(b)
	e.offset += int64(n)
	return err
}
