package parquetfile

import (
	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"
)

// filterBits is what each value gets of a bloom filter: about one foreign value
// in a hundred passes.
const filterBits = 10

// filter builds the bloom filter of a column chunk, nil for a column that has
// none and for a chunk without values.
func (l *leaf) filter(c *Column) []byte {
	texts := &c.Texts
	if c.Dictionary.Len() > 0 {
		texts = &c.Dictionary
	}
	if !l.bloom || texts.Len() == 0 {
		return nil
	}
	filter := make(bloom.SplitBlockFilter, bloom.NumSplitBlocksOf(int64(texts.Len()), filterBits))
	for i := range texts.Len() {
		filter.Insert(xxhash.Sum64(texts.At(i)))
	}
	return filter.Bytes()
}

// writeFilters writes the bloom filters of a row group.
func (e *Encoder) writeFilters(columns []format.ColumnChunk, filters [][]byte) error {
	for i, filter := range filters {
		if filter == nil {
			continue
		}
		offset, length, err := e.place(&format.BloomFilterHeader{
			NumBytes:    int32(len(filter)),
			Algorithm:   format.BloomFilterAlgorithm{Value: &format.SplitBlockAlgorithm{}},
			Hash:        format.BloomFilterHash{Value: &format.XxHash{}},
			Compression: format.BloomFilterCompression{Value: &format.BloomFilterUncompressed{}},
		})
		if err != nil {
			return err
		}
		columns[i].MetaData.BloomFilterOffset = offset
		columns[i].MetaData.BloomFilterLength = length + int32(len(filter))
		if err := e.write(filter); err != nil {
			return err
		}
	}
	return nil
}
