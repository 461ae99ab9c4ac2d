package console

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// table is one that can be sorted and exported.
type table struct {
	ID      string // tells it from others of the same page; "" for the only one
	Caption string
	Head    []column
	Rows    [][]cell
	Export  string // path of the same table as CSV, "" for none
	Empty   string // what to say when there are no rows
	Note    string // what to know about it, "" for nothing
	Group   int    // so many of the first columns are the same in rows that belong together, 0 for none
}

// narrowest is the most columns of a table that does not take the page's width.
const narrowest = 4

// Narrow reports whether so few columns would be far apart on a whole page.
func (t table) Narrow() bool { return len(t.Head) <= narrowest }

// Sorts are the columns to sort by, where there is something to sort.
func (t table) Sorts() (all []column) {
	for _, h := range t.Head {
		if h.Sort != "" && len(t.Rows) > 1 {
			all = append(all, h)
		}
	}
	return all
}

// Sorted names the column that the table is sorted by, "" for none.
func (t table) Sorted() string {
	for _, h := range t.Head {
		if h.Order != "" {
			return h.Name + ", " + h.Order
		}
	}
	return ""
}

// Begins reports whether other rows belong together from a row on.
func (t table) Begins(row int) bool {
	if row == 0 || t.Group == 0 || t.Sorted() != "" {
		return false
	}
	return !slices.EqualFunc(t.Rows[row][:t.Group], t.Rows[row-1][:t.Group], func(a, b cell) bool { return a.Text == b.Text })
}

// without leaves out columns, by their keys, that say nothing in any row.
func (t *table) without(keys ...string) {
	for at := len(t.Head) - 1; at >= 0; at-- {
		if !slices.Contains(keys, t.Head[at].Key) || slices.ContainsFunc(t.Rows, func(row []cell) bool { return !row[at].empty() }) {
			continue
		}
		t.Head = slices.Delete(t.Head, at, at+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], at, at+1)
		}
	}
}

// column is a column's head.
type column struct {
	Name   string
	Number bool   // its cells are numbers
	Key    string // what it is sorted by in an address
	Sort   string // address of the page sorted by it, "" when it cannot be
	Order  string // ascending or descending when the table is sorted by it, else ""
}

// cell is one of a table.
type cell struct {
	Text   string
	Value  string // for programs, "" when Text is
	Href   string // where it leads, "" for nowhere
	Title  string // what more there is to say
	Time   string // RFC 3339, for a moment
	Badge  string // class of a state, "" for plain text
	Number bool
}

// Class is how a cell is set: numbers to the right, and short texts on one line.
func (c cell) Class() string {
	switch {
	case c.Number:
		return "number"
	case utf8.RuneCountInString(c.Text) <= shortText:
		return "short"
	default:
		return "long"
	}
}

// shortText is the longest text that is not broken into lines.
const shortText = 24

func text(s string) cell   { return cell{Text: s} }
func number(s string) cell { return cell{Text: s, Number: true} }

// linked returns a cell that leads somewhere.
func linked(c cell, href string) cell {
	c.Href = href
	return c
}

// columns names plain columns; one that begins with # is of numbers.
func columns(names ...string) []column {
	all := make([]column, len(names))
	for i, name := range names {
		plain, isNumber := strings.CutPrefix(name, "#")
		all[i] = column{Name: plain, Number: isNumber, Key: slug(plain)}
	}
	return all
}

// slug makes a name fit for an address and for a field of JSON.
func slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, name), "_")
}

// param is the parameter that says what a table is sorted by.
func (t *table) param() string {
	if t.ID == "" {
		return "sort"
	}
	return "sort-" + t.ID
}

// pageParam is the parameter that says which page of a table is shown.
func (t *table) pageParam() string {
	if t.ID == "" {
		return "page"
	}
	return "page-" + t.ID
}

// anchor leads to the table on a page that has several.
func (t *table) anchor() string {
	if t.ID == "" {
		return ""
	}
	return "#" + t.ID
}

// sorting is the column that a request wants a table to be sorted by.
type sorting struct {
	key  string // of a column, "" for none
	down bool
}

// sortable makes the heads of columns lead to the table sorted by them: of all, or
// of those with the keys. What the request asks for is returned when it is one of
// them; anything else is nothing.
func (t *table) sortable(r *http.Request, keys ...string) (by sorting) {
	q := r.URL.Query()
	by.key, by.down = strings.CutPrefix(q.Get(t.param()), "-")
	if !by.down {
		by.key = q.Get(t.param())
	}
	for _, param := range []string{t.pageParam(), "before", "format", "table"} {
		q.Del(param)
	}
	known := false
	for i := range t.Head {
		h := &t.Head[i]
		if keys != nil && !slices.Contains(keys, h.Key) {
			continue
		}
		to := h.Key
		if by.key == h.Key {
			known, h.Order = true, "ascending"
			if by.down {
				h.Order = "descending"
			} else {
				to = "-" + h.Key
			}
		} else if h.Number { // people want the greatest first
			to = "-" + h.Key
		}
		q.Set(t.param(), to)
		h.Sort = r.URL.EscapedPath() + "?" + q.Encode() + t.anchor()
	}
	if !known {
		return sorting{}
	}
	t.Caption, _, _ = strings.Cut(t.Caption, ", ") // what is behind it says in which order they would come
	return by
}

// sort sorts the rows as the request wants them; those that are alike stay in
// their order, and empty cells come last.
func (t *table) sort(r *http.Request) {
	by := t.sortable(r)
	at := slices.IndexFunc(t.Head, func(h column) bool { return h.Key == by.key })
	if at < 0 {
		return
	}
	slices.SortStableFunc(t.Rows, func(a, b []cell) int {
		x, y := &a[at], &b[at]
		switch {
		case x.empty() || y.empty():
			return boolOrder(x.empty(), y.empty())
		case by.down:
			return y.compare(x)
		default:
			return x.compare(y)
		}
	})
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func (c *cell) empty() bool { return c.Text == "" || c.Text == "–" }

// compare compares two cells of a column: by time, by amount, else by text.
func (c *cell) compare(to *cell) int {
	if c.Time != "" && to.Time != "" {
		a, errA := time.Parse(time.RFC3339Nano, c.Time)
		b, errB := time.Parse(time.RFC3339Nano, to.Time)
		if errA == nil && errB == nil {
			return a.Compare(b)
		}
	}
	if c.Number && to.Number {
		a, errA := decimal.NewFromString(c.plain())
		b, errB := decimal.NewFromString(to.plain())
		if errA == nil && errB == nil {
			return a.Cmp(b)
		}
	}
	return strings.Compare(strings.ToLower(c.Text), strings.ToLower(to.Text))
}

// plain returns what a cell says to a program.
func (c *cell) plain() string {
	switch {
	case c.Time != "":
		return c.Time
	case c.Value != "":
		return c.Value
	default:
		return c.Text
	}
}
