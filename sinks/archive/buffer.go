package archive

import (
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/orderwire/orderwire/schema"
)

// fileSchema is the schema of every file.
var fileSchema = parquet.SchemaOf(Row{})

// buffer holds a batch column by column. Its rows are numbered from 0 in the
// order of the log.
type buffer struct {
	source  source
	events  table
	lines   list
	changes list
	last    table
	leaves  []leaf // all columns in the order of the file

	parts  []part
	partOf map[partKey]int // place in parts

	rows     uint32
	bytes    int64 // of the raw events
	firstSeq uint64
	lastSeq  uint64
	since    time.Time // broker time of the first row
}

// part lists the rows of one file to be.
type part struct {
	partKey
	rows []uint32
}

// table is a set of columns that grow together.
type table struct {
	fields  []field
	columns []column
}

// list is a table of which each row of the batch has any number of rows.
type list struct {
	table
	ends    []uint32 // where the elements of each row of the batch end
	missing []bool   // rows whose list is null, not empty
	level   int      // definition level of an empty list
}

// leaf is a column of the file, with the list that it is in, if any.
type leaf struct {
	*column
	list *list
}

func newBuffer() *buffer {
	b := &buffer{
		source: source{zones: zones{}},
		partOf: map[partKey]int{},
		leaves: make([]leaf, len(fileSchema.Columns())),
	}
	b.bind(&b.events, nil, "", slices.Concat(eventFields, orderFields))
	b.bind(&b.lines.table, &b.lines, linesPrefix, lineFields)
	b.bind(&b.changes.table, &b.changes, changesPrefix, changeFields)
	b.bind(&b.last, nil, "", lastFields)
	b.lines.level = 1 // lines may be null, changes may not
	return b
}

// What the columns of a list are called by, ahead of their names in it.
const (
	linesPrefix   = "lines.list.element."
	changesPrefix = "changes.list.element."
)

// bind makes the columns of a table and puts them into their places in the file.
func (b *buffer) bind(t *table, of *list, prefix string, fields []field) {
	t.fields, t.columns = fields, make([]column, len(fields))
	for i, f := range fields {
		found, exists := fileSchema.Lookup(strings.Split(prefix+f.name, ".")...)
		if !exists {
			panic("archive: Row has no column " + prefix + f.name)
		}
		c := &t.columns[i]
		c.kind, c.index, c.level = found.Node.Type().Kind(), found.ColumnIndex, found.MaxDefinitionLevel
		if e := found.Node.Encoding(); e != nil && e.Encoding() == parquet.RLEDictionary.Encoding() {
			c.words = newWords(&c.texts)
		}
		b.leaves[c.index] = leaf{c, of}
	}
}

// add takes an entry and keeps nothing of its memory.
func (b *buffer) add(e *schema.Entry) {
	if b.rows == 0 {
		b.firstSeq, b.since = e.Sequence, e.Stored
	}
	s := &b.source
	s.begin(e)
	b.events.put(s)
	for i := range s.order.Details {
		s.beginLine(i)
		b.lines.put(s)
	}
	b.lines.end(s.order.Details == nil)
	for i := range s.event.Data.Changes {
		s.change = &s.event.Data.Changes[i]
		b.changes.put(s)
	}
	b.changes.end(false)
	b.last.put(s)
	s.end()
	p := b.part(keyOf(&e.Event))
	p.rows = append(p.rows, b.rows)
	b.rows++
	b.lastSeq = e.Sequence
	b.bytes += int64(len(e.Raw))
}

func (b *buffer) part(key partKey) *part {
	i, exists := b.partOf[key]
	if !exists {
		i = len(b.parts)
		key.account = strings.Clone(key.account)
		b.partOf[key] = i
		b.parts = append(b.parts, part{partKey: key})
	}
	return &b.parts[i]
}

// column returns a column outside lists.
func (b *buffer) column(name string) *column {
	found, _ := fileSchema.Lookup(name)
	return b.leaves[found.ColumnIndex].column
}

// reset empties the buffer and keeps its memory.
func (b *buffer) reset() {
	for _, l := range b.leaves {
		l.reset()
	}
	b.lines.reset()
	b.changes.reset()
	clear(b.partOf)
	b.parts = nil
	b.rows, b.bytes, b.firstSeq, b.lastSeq, b.since = 0, 0, 0, 0, time.Time{}
}

func (t *table) put(s *source) {
	for i := range t.fields {
		t.fields[i].put(&t.columns[i], s)
	}
}

// end closes the list of one row of the batch.
func (l *list) end(missing bool) {
	l.ends = append(l.ends, uint32(len(l.columns[0].absent)))
	l.missing = append(l.missing, missing)
}

// span returns where the elements of a row of the batch begin and end.
func (l *list) span(row uint32) (start, end uint32) {
	if row > 0 {
		start = l.ends[row-1]
	}
	return start, l.ends[row]
}

func (l *list) reset() { l.ends, l.missing = l.ends[:0], l.missing[:0] }
