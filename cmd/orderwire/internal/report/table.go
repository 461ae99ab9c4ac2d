package report

import (
	"encoding/csv"
	"io"
	"strconv"
)

// Table is a report or a list: rows of text, and what they are in JSON.
type Table struct {
	Header []string
	Rows   [][]string
	// Value is the same in JSON: a list, or an object of its own.
	Value any
	// List tells that Value is a list, with an element for each row.
	List bool
}

// WriteCSV writes header and rows (RFC 4180). Texts stand as they are: a spreadsheet
// may take one that begins with "=" for a formula.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.WriteAll(append([][]string{t.Header}, t.Rows...)); err != nil {
		return err
	}
	return out.Error()
}

// tableOf makes a table of rows that are values as well.
func tableOf[T any](all []T, columns func(*T) []string, header ...string) *Table {
	t := &Table{Header: header, Value: all, List: true}
	for i := range all {
		t.Rows = append(t.Rows, columns(&all[i]))
	}
	return t
}

func number[N int | int64 | uint64](n N) string { return strconv.FormatInt(int64(n), 10) }
