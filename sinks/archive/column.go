package archive

import (
	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive/internal/parquetfile"
)

// column buffers one leaf column of a batch. Apart from its dictionary it holds
// no pointers, so the garbage collector need not look at a batch, and what is
// read again in another order mostly fits the processor's cache.
type column struct {
	kind  parquet.Kind
	index int // of the leaf in the file
	level int // definition level of a value that is present

	absent  []bool            // which values are null
	numbers []int64           // values; of a column with a dictionary, places in texts
	texts   parquetfile.Texts // values, or the dictionary, which holds each text once
	words   *words            // finds the texts of the dictionary, nil without one
}

func (c *column) reset() {
	c.absent, c.numbers = c.absent[:0], c.numbers[:0]
	c.texts.Reset()
	if c.words != nil {
		c.words.reset()
	}
}

func (c *column) null() {
	c.absent = append(c.absent, true)
	if c.kind == parquet.ByteArray && c.words == nil {
		c.texts.Append(nil)
		return
	}
	c.numbers = append(c.numbers, 0)
}

func (c *column) number(n int64) {
	c.absent = append(c.absent, false)
	c.numbers = append(c.numbers, n)
}

func (c *column) bool(b bool) {
	var n int64
	if b {
		n = 1
	}
	c.number(n)
}

func (c *column) string(s string) {
	if c.words == nil {
		c.absent = append(c.absent, false)
		c.texts.AppendString(s)
		return
	}
	c.number(c.place(s))
}

// place finds a text in the dictionary and adds it when it is new. Neighbours
// are often equal, so the last text is tried first.
func (c *column) place(s string) int64 {
	if n := len(c.numbers); n > 0 && c.texts.Len() > 0 {
		if last := c.numbers[n-1]; string(c.texts.At(int(last))) == s {
			return last
		}
	}
	return c.words.place(s)
}

// stringOrNull takes a text whose empty form means that there is none.
func (c *column) stringOrNull(s string) {
	if s == "" {
		c.null()
		return
	}
	c.string(s)
}

func (c *column) text(t schema.Text) {
	if t.IsZero() {
		c.null()
		return
	}
	c.string(t.String())
}

// json takes a JSON text, null when it is nil. Its column has no dictionary.
func (c *column) json(v []byte) {
	if v == nil {
		c.null()
		return
	}
	c.absent = append(c.absent, false)
	c.texts.Append(v)
}
