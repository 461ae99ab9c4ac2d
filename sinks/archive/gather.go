package archive

import (
	"bytes"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/sinks/archive/internal/parquetfile"
)

// none stands for the value of a slot that has none.
const none = ^uint32(0)

// slots say which values of a table make up a row group, and in what order. The
// columns of a table share them.
type slots struct {
	values     []uint32 // place of each slot's value in the column, none for an empty list
	void       []uint8  // definition level of each slot without value
	repetition []uint8  // repetition level of each slot; empty outside lists
	starts     []int    // slot at which each page begins, and the end of the last
}

// flat takes columns outside lists: each row has one slot.
func (s *slots) flat(rows []uint32) {
	s.values, s.starts = rows, s.starts[:0]
	for at := 0; at < len(rows); at += parquetfile.PageRows {
		s.starts = append(s.starts, at)
	}
	s.starts = append(s.starts, len(rows))
}

// nested takes the columns of a list.
func (s *slots) nested(l *list, rows []uint32) {
	s.values, s.void, s.repetition, s.starts = s.values[:0], s.void[:0], s.repetition[:0], s.starts[:0]
	for i, row := range rows {
		if i%parquetfile.PageRows == 0 {
			s.starts = append(s.starts, len(s.values))
		}
		start, end := l.span(row)
		if start == end {
			s.add(none, l.voidLevel(row), 0)
		}
		for v := start; v < end; v++ {
			s.add(v, 0, uint8(min(v-start, 1)))
		}
	}
	s.starts = append(s.starts, len(s.values))
}

func (s *slots) add(value uint32, void, repetition uint8) {
	s.values = append(s.values, value)
	s.void = append(s.void, void)
	s.repetition = append(s.repetition, repetition)
}

// voidLevel is the definition level of a list without elements.
func (l *list) voidLevel(row uint32) uint8 {
	if l.missing[row] {
		return 0
	}
	return uint8(l.level)
}

// gatherer turns a buffered column into a column of a row group. Its memory
// serves one column after the other.
type gatherer struct {
	out     parquetfile.Column
	present []uint32 // values that are not null
	words   []int64  // texts of the dictionary that are in use
	places  []int32  // for each text of the batch's dictionary, its place in the row group's
}

func (g *gatherer) gather(c *column, s *slots) *parquetfile.Column {
	g.out.Reset()
	g.out.Starts, g.out.Repetition = s.starts, s.repetition
	g.levels(c, s)
	switch {
	case c.words != nil:
		g.dictionary(c)
	case c.kind == parquet.ByteArray:
		for _, v := range g.present {
			g.out.Texts.Append(c.texts.At(int(v)))
		}
	default:
		for _, v := range g.present {
			g.out.Numbers = append(g.out.Numbers, c.numbers[v])
		}
	}
	return &g.out
}

// levels sets the definition levels and lists the values that are present.
func (g *gatherer) levels(c *column, s *slots) {
	g.present = g.present[:0]
	if c.level == 0 {
		g.present = append(g.present, s.values...)
		return
	}
	g.out.Definition = slices.Grow(g.out.Definition, len(s.values))[:len(s.values)]
	for i, v := range s.values {
		switch {
		case v == none:
			g.out.Definition[i] = s.void[i]
		case c.absent[v]:
			g.out.Definition[i] = uint8(c.level - 1)
		default:
			g.out.Definition[i] = uint8(c.level)
			g.present = append(g.present, v)
		}
	}
}

// dictionary makes an ascending dictionary of the texts that the row group uses.
func (g *gatherer) dictionary(c *column) {
	const unused = -1
	g.places = slices.Grow(g.places[:0], c.texts.Len())[:c.texts.Len()]
	for i := range g.places {
		g.places[i] = unused
	}
	g.words = g.words[:0]
	for _, v := range g.present {
		if word := c.numbers[v]; g.places[word] == unused {
			g.places[word] = 0
			g.words = append(g.words, word)
		}
	}
	slices.SortFunc(g.words, func(a, b int64) int { return bytes.Compare(c.texts.At(int(a)), c.texts.At(int(b))) })
	for place, word := range g.words {
		g.places[word] = int32(place)
		g.out.Dictionary.Append(c.texts.At(int(word)))
	}
	for _, v := range g.present {
		g.out.Places = append(g.out.Places, g.places[c.numbers[v]])
	}
}
