package archive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// sortedBy are the columns by which the rows of a file ascend; account comes
// before them, as a file holds only one. Rows that agree in all three follow
// the log.
var sortedBy = []string{"program_id", "order_sn", "version"}

// rowKey stands for a row while a file is sorted: what decides most
// comparisons without looking the texts up.
type rowKey struct {
	program uint32 // place of the program among those of the batch, in their order
	row     uint32
	order   uint64 // the bytes of the order number behind what all of them share
}

// sortParts puts files, and the rows of each file, into their order.
func (b *buffer) sortParts() {
	slices.SortFunc(b.parts, func(x, y part) int {
		return cmp.Or(cmp.Compare(x.account, y.account), cmp.Compare(x.day, y.day))
	})
	programs, orders, versions := b.column("program_id"), b.column("order_sn"), b.column("version")
	ranks := programs.ranks()
	var keys []rowKey
	for _, p := range b.parts {
		keys = keys[:0]
		shared := orders.shared(p.rows)
		for _, row := range p.rows {
			keys = append(keys, rowKey{rank(programs, ranks, row), row, leading(orders.texts.At(int(row))[shared:])})
		}
		slices.SortFunc(keys, func(x, y rowKey) int {
			if c := cmp.Or(cmp.Compare(x.program, y.program), cmp.Compare(x.order, y.order)); c != 0 {
				return c
			}
			if c := bytes.Compare(orders.texts.At(int(x.row)), orders.texts.At(int(y.row))); c != 0 {
				return c
			}
			return cmp.Or(cmp.Compare(versions.numbers[x.row], versions.numbers[y.row]), cmp.Compare(x.row, y.row))
		})
		for i, k := range keys {
			p.rows[i] = k.row
		}
	}
}

// ranks returns, for each text of the dictionary, its place in their order.
func (c *column) ranks() []uint32 {
	byText := make([]int, c.texts.Len())
	for i := range byText {
		byText[i] = i
	}
	slices.SortFunc(byText, func(x, y int) int { return bytes.Compare(c.texts.At(x), c.texts.At(y)) })
	ranks := make([]uint32, len(byText))
	for place, i := range byText {
		ranks[i] = uint32(place)
	}
	return ranks
}

// rank puts null behind all texts.
func rank(c *column, ranks []uint32, row uint32) uint32 {
	if c.absent[row] {
		return uint32(len(ranks))
	}
	return ranks[c.numbers[row]]
}

// shared returns the length of the longest prefix that all texts have.
func (c *column) shared(rows []uint32) int {
	first := c.texts.At(int(rows[0]))
	n := len(first)
	for _, row := range rows[1:] {
		text := c.texts.At(int(row))
		n = min(n, len(text))
		for i := range n {
			if text[i] != first[i] {
				n = i
				break
			}
		}
	}
	return n
}

// leading returns the first 8 bytes of a text as a number in the same order.
func leading(text []byte) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}
