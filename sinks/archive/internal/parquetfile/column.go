package parquetfile

// PageRows is the number of rows in a page. All columns cut their pages at the
// same rows, so that a reader that has found a page by one column reads just
// one page of every other.
const PageRows = 8192

// Column is one leaf column of a row group. Its slots are its values in row
// order, nulls included; a row of a list takes one slot for each element, and
// one slot if it has none. One of Numbers, Texts and Places holds the values
// that are not null, in the order of their slots.
type Column struct {
	// Starts holds the slot at which each page begins, and behind the last page
	// the number of slots.
	Starts []int
	// Repetition holds the repetition level of each slot; nil outside lists.
	Repetition []uint8
	// Definition holds the definition level of each slot; nil in a column that
	// is required and in no list.
	Definition []uint8

	// Numbers are integers, or booleans as 0 and 1.
	Numbers []int64
	// Texts are texts that seldom repeat.
	Texts Texts
	// Places are texts as their places in Dictionary.
	Places []int32
	// Dictionary holds each text of Places once, in ascending order; empty when
	// Texts holds the values.
	Dictionary Texts
}

// Texts is a list of texts without pointers.
type Texts struct {
	Data []byte   // all texts, one behind the other
	Ends []uint32 // where each text ends in Data
}

// Reset empties the list and keeps its memory.
func (t *Texts) Reset() { t.Data, t.Ends = t.Data[:0], t.Ends[:0] }

// Len returns the number of texts.
func (t *Texts) Len() int { return len(t.Ends) }

// At returns text i, which shares memory with the list.
func (t *Texts) At(i int) []byte { return t.Data[t.start(i):t.Ends[i]] }

// Append adds a text.
func (t *Texts) Append(text []byte) {
	t.Data = append(t.Data, text...)
	t.Ends = append(t.Ends, uint32(len(t.Data)))
}

// AppendString adds a text.
func (t *Texts) AppendString(text string) {
	t.Data = append(t.Data, text...)
	t.Ends = append(t.Ends, uint32(len(t.Data)))
}

func (t *Texts) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return t.Ends[i-1]
}

// Reset empties the column and keeps the memory of its values and definition
// levels. Starts and Repetition may be shared, so it only lets go of them.
func (c *Column) Reset() {
	c.Starts, c.Repetition = nil, nil
	c.Definition, c.Numbers, c.Places = c.Definition[:0], c.Numbers[:0], c.Places[:0]
	c.Texts.Reset()
	c.Dictionary.Reset()
}

// span is what one page takes of a column.
type span struct {
	firstSlot, endSlot   int
	firstValue, endValue int
	nulls                int
}

// spans cuts a column into pages. present is the definition level of a value
// that is not null.
func (c *Column) spans(dst []span, present int) []span {
	value := 0
	for p := range len(c.Starts) - 1 {
		s := span{firstSlot: c.Starts[p], endSlot: c.Starts[p+1], firstValue: value}
		if present > 0 {
			s.nulls = nulls(c.Definition[s.firstSlot:s.endSlot], uint8(present))
		}
		value += s.endSlot - s.firstSlot - s.nulls
		s.endValue = value
		dst = append(dst, s)
	}
	return dst
}

func nulls(levels []uint8, present uint8) int {
	n := 0
	for _, l := range levels {
		if l != present {
			n++
		}
	}
	return n
}
