package parquetfile

import (
	"bytes"
	"encoding/binary"

	"github.com/parquet-go/parquet-go"
)

// longestBound is the length of the longest text that serves as a bound. A
// column chunk with a longer one gets no bounds: those of such texts exclude
// next to nothing, and cutting them is subtle.
const longestBound = 256

// bounds are the least and the greatest value of a page or of a column chunk,
// in Parquet's plain encoding. They are void when there is no value.
type bounds struct {
	low, high []byte
	void      bool
}

func (b bounds) clone() bounds {
	return bounds{append([]byte{}, b.low...), append([]byte{}, b.high...), b.void}
}

// bounds finds the bounds of a page. They share memory with the column.
func (c *Column) bounds(kind parquet.Kind, s span) bounds {
	switch {
	case s.firstValue == s.endValue:
		return bounds{void: true}
	case kind != parquet.ByteArray:
		low, high := extent(c.Numbers[s.firstValue:s.endValue])
		return bounds{low: fixed(kind, low), high: fixed(kind, high)}
	case c.Dictionary.Len() > 0:
		low, high := extent(c.Places[s.firstValue:s.endValue])
		return bounds{low: c.Dictionary.At(int(low)), high: c.Dictionary.At(int(high))}
	}
	low := c.Texts.At(s.firstValue)
	high := low
	for i := s.firstValue + 1; i < s.endValue; i++ {
		text := c.Texts.At(i)
		if bytes.Compare(text, low) < 0 {
			low = text
		} else if bytes.Compare(text, high) > 0 {
			high = text
		}
	}
	return bounds{low: low, high: high}
}

func extent[N int32 | int64](numbers []N) (low, high N) {
	low, high = numbers[0], numbers[0]
	for _, n := range numbers[1:] {
		low, high = min(low, n), max(high, n)
	}
	return low, high
}

// fixed returns a number in plain encoding.
func fixed(kind parquet.Kind, n int64) []byte {
	switch kind {
	case parquet.Boolean:
		return []byte{byte(n)}
	case parquet.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(n))
	default:
		return binary.LittleEndian.AppendUint64(nil, uint64(n))
	}
}
