package parquetfile

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// scratch is memory that every page needs anew.
type scratch struct {
	spans   []span
	body    []byte // a page before compression
	part    []byte // levels or values of a page
	zipped  []byte
	ints    []int32
	offsets []uint32
}

// chunk is a column chunk that is being written.
type chunk struct {
	*Encoder
	leaf     *leaf
	values   *Column
	encoding format.Encoding // of the values in the data pages
	meta     format.ColumnMetaData
	index    pageIndex
}

// write writes the pages and fills in what the footer says of them.
func (c *chunk) write() error {
	c.encoding = c.leaf.encoding(c.values)
	c.meta = format.ColumnMetaData{
		Type: format.Type(c.leaf.kind), Codec: format.Zstd, PathInSchema: c.leaf.path,
		NumValues: int64(c.values.Starts[len(c.values.Starts)-1]), Encoding: []format.Encoding{c.encoding},
	}
	if c.leaf.defines > 0 {
		c.meta.Encoding = append(c.meta.Encoding, format.RLE)
	}
	if c.values.Dictionary.Len() > 0 {
		if err := c.dictionaryPage(); err != nil {
			return err
		}
	}
	c.meta.DataPageOffset = c.offset
	c.scratch.spans = c.values.spans(c.scratch.spans[:0], c.leaf.defines)
	for i, s := range c.scratch.spans {
		c.index.add(c.leaf, c.values.bounds(c.leaf.kind, s), s.nulls)
		offset := c.offset
		if err := c.dataPage(s); err != nil {
			return err
		}
		c.index.offsets.PageLocations = append(c.index.offsets.PageLocations, format.PageLocation{
			Offset: offset, CompressedPageSize: int32(c.offset - offset), FirstRowIndex: int64(i) * PageRows,
		})
	}
	c.meta.Statistics = c.index.statistics()
	return nil
}

// encoding chooses how the values of the data pages are written.
func (l *leaf) encoding(c *Column) format.Encoding {
	switch {
	case l.kind == parquet.Boolean:
		return format.Plain
	case l.kind != parquet.ByteArray:
		return format.DeltaBinaryPacked
	case c.Dictionary.Len() > 0:
		return format.RLEDictionary
	case l.prefix:
		return format.DeltaByteArray
	default:
		return format.DeltaLengthByteArray
	}
}

func (c *chunk) dictionaryPage() error {
	c.meta.DictionaryPageOffset = c.offset
	c.meta.Encoding = append(c.meta.Encoding, format.Plain)
	body := c.scratch.body[:0]
	for i := range c.values.Dictionary.Len() {
		body = plain.AppendByteArray(body, c.values.Dictionary.At(i))
	}
	c.scratch.body = body
	return c.page(format.PageHeader{
		Type: format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(c.values.Dictionary.Len()), Encoding: format.Plain, IsSorted: true,
		}),
	})
}

func (c *chunk) dataPage(s span) error {
	c.scratch.body = c.scratch.body[:0]
	if err := c.levels(c.values.Repetition, c.leaf.repeats, s); err != nil {
		return err
	}
	if err := c.levels(c.values.Definition, c.leaf.defines, s); err != nil {
		return err
	}
	if err := c.encodeValues(s); err != nil {
		return err
	}
	return c.page(format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(s.endSlot - s.firstSlot), Encoding: c.encoding,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		}),
	})
}

// levels adds the levels of a page to its body.
func (c *chunk) levels(levels []uint8, most int, s span) (err error) {
	if most == 0 {
		return nil
	}
	x := &c.scratch
	encoding := rle.Encoding{BitWidth: bits.Len(uint(most))}
	if x.part, err = encoding.EncodeLevels(x.part[:0], levels[s.firstSlot:s.endSlot]); err != nil {
		return err
	}
	x.body = binary.LittleEndian.AppendUint32(x.body, uint32(len(x.part)))
	x.body = append(x.body, x.part...)
	return nil
}

// page compresses the body and writes it behind its header.
func (c *chunk) page(header format.PageHeader) error {
	x := &c.scratch
	x.zipped = c.zip.EncodeAll(x.body, x.zipped[:0])
	header.UncompressedPageSize = int32(len(x.body))
	header.CompressedPageSize = int32(len(x.zipped))
	header.CRC = int32(crc32.ChecksumIEEE(x.zipped))
	_, length, err := c.place(&header)
	if err != nil {
		return err
	}
	c.meta.TotalUncompressedSize += int64(length) + int64(len(x.body))
	c.meta.TotalCompressedSize += int64(length) + int64(len(x.zipped))
	return c.Encoder.write(x.zipped)
}
