package parquetfile

import (
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// encodeValues adds the values of a page to its body.
func (c *chunk) encodeValues(s span) (err error) {
	x := &c.scratch
	switch c.encoding {
	case format.RLEDictionary:
		width := bits.Len(uint(c.values.Dictionary.Len() - 1))
		x.body = append(x.body, byte(width))
		encoding := rle.Encoding{BitWidth: width}
		x.part, err = encoding.EncodeInt32(x.part[:0], c.values.Places[s.firstValue:s.endValue])
	case format.DeltaBinaryPacked:
		err = c.encodeNumbers(c.values.Numbers[s.firstValue:s.endValue])
	case format.Plain:
		x.part = packBits(x.part[:0], c.values.Numbers[s.firstValue:s.endValue])
	case format.DeltaByteArray:
		data, offsets := c.texts(s)
		x.part, err = new(delta.ByteArrayEncoding).EncodeByteArray(x.part[:0], data, offsets)
	default:
		data, offsets := c.texts(s)
		x.part, err = new(delta.LengthByteArrayEncoding).EncodeByteArray(x.part[:0], data, offsets)
	}
	x.body = append(x.body, x.part...)
	return err
}

func (c *chunk) encodeNumbers(numbers []int64) (err error) {
	x, encoding := &c.scratch, new(delta.BinaryPackedEncoding)
	if c.leaf.kind == parquet.Int64 {
		x.part, err = encoding.EncodeInt64(x.part[:0], numbers)
		return err
	}
	x.ints = x.ints[:0]
	for _, n := range numbers {
		x.ints = append(x.ints, int32(n))
	}
	x.part, err = encoding.EncodeInt32(x.part[:0], x.ints)
	return err
}

// texts returns the texts of a page in the way of the encodings: one offset
// more than there are texts, from 0.
func (c *chunk) texts(s span) ([]byte, []uint32) {
	x, texts := &c.scratch, &c.values.Texts
	x.offsets = append(x.offsets[:0], 0)
	if s.firstValue == s.endValue {
		return nil, x.offsets
	}
	base := texts.start(s.firstValue)
	for _, end := range texts.Ends[s.firstValue:s.endValue] {
		x.offsets = append(x.offsets, end-base)
	}
	return texts.Data[base:texts.Ends[s.endValue-1]], x.offsets
}

func packBits(dst []byte, numbers []int64) []byte {
	for i, n := range numbers {
		if i%8 == 0 {
			dst = append(dst, 0)
		}
		dst[len(dst)-1] |= byte(n) << (i % 8)
	}
	return dst
}
