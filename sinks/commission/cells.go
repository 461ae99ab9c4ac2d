package commission

import (
	"cmp"
	"errors"
	"slices"
)

// cells are sums that are made in memory, where no level of the kept ones knows what
// is asked for: SQLite would sort all rows for that. What is added comes by the
// numbers of the books.
type cells struct {
	columns                      []string // [Groupings] and "currency", each once, in the order of sorting
	day, month, status, currency int      // where these stand in columns, -1: nowhere

	dimensions []int32          // by number: the place in groups, 0 for one that is not chosen
	few        bool             // those that are chosen are few: their orders are best found by an index
	groups     []cellKey        // what the cells of a dimension have in common, each once
	words      []int32          // by number: the rank of a text of commission_texts
	numbers    map[string]int64 // of these texts, from 1

	texts [cellColumns][]string // of the columns that hold texts: by rank
	days  map[int32]string      // texts of days and months, as far as they were asked for

	at   map[cell]int32 // the place in sums
	sums []sum
}

// cell is a cell by its group and what else is grouped by, 0 for what is not: a
// narrow key.
type cell struct{ group, day, currency, status int32 }

// cellColumns is the most columns: all groupings and the currency.
const cellColumns = 9

// cellKey holds a number for each column: the rank of its text among the sorted
// ones, the day, or the month. So keys sort as their texts do.
type cellKey [cellColumns]int32

// compare is as slices.Compare, which takes twice as long.
func (k *cellKey) compare(other *cellKey) int {
	for i, n := range k {
		if n != other[i] {
			return cmp.Compare(n, other[i])
		}
	}
	return 0
}

var (
	errTooLarge = errors.New("a sum needs more than 64 bits")
	errNoWord   = errors.New("a status or a currency is not in commission_texts")
)

// add adds to a cell, unless the dimension is not chosen. day and status may be
// anything where nothing is grouped by them.
func (c *cells) add(dimension, day, currency, status int64, v sum) error {
	group := c.group(dimension)
	if group == 0 {
		return nil
	}
	i, err := c.place(group, day, currency, status)
	if err != nil {
		return err
	}
	return c.sums[i].add(v)
}

// empty returns cells for the same without sums.
func (c *cells) empty() *cells {
	e := *c
	e.at, e.sums = map[cell]int32{}, nil
	return &e
}

// addAll adds other cells for the same.
func (c *cells) addAll(other *cells) error {
	for k, i := range other.at {
		if err := c.sums[c.placeOf(k)].add(other.sums[i]); err != nil {
			return err
		}
	}
	return nil
}

// group returns the group of a dimension, 0 for one that is not chosen.
func (c *cells) group(dimension int64) int32 {
	if uint64(dimension) >= uint64(len(c.dimensions)) {
		return 0
	}
	return c.dimensions[dimension]
}

// place returns where the sum of a cell stands in sums.
func (c *cells) place(group int32, day, currency, status int64) (int32, error) {
	if last := uint64(len(c.words)); uint64(currency) >= last || uint64(status) >= last {
		return 0, errNoWord
	}
	k := cell{group: group, day: c.period(day), currency: c.words[currency]}
	if c.status >= 0 {
		k.status = c.words[status]
	}
	return c.placeOf(k), nil
}

func (c *cells) placeOf(k cell) int32 {
	i, found := c.at[k]
	if !found {
		i = int32(len(c.sums))
		c.at[k], c.sums = i, append(c.sums, sum{})
	}
	return i
}

// period returns the day, the first of its month without its day, or 0, by what is
// asked for.
func (c *cells) period(day int64) int32 {
	switch {
	case c.day >= 0:
		return int32(day)
	case c.month >= 0:
		return int32(day / 100 * 100)
	default:
		return 0
	}
}

// add refuses what does not fit, as the databases do.
func (s *sum) add(v sum) error {
	was := *s
	s.orders, s.amount, s.commission = s.orders+v.orders, s.amount+v.amount, s.commission+v.commission
	if (s.orders > was.orders) != (v.orders > 0) || (s.amount > was.amount) != (v.amount > 0) || (s.commission > was.commission) != (v.commission > 0) {
		return errTooLarge
	}
	return nil
}

// result is a cell with its full key.
type result struct {
	key cellKey
	sum
}

// results returns the cells that have not gone back to nothing, sorted.
func (c *cells) results() []result {
	all := make([]result, 0, len(c.at))
	for k, i := range c.at {
		if c.sums[i] == (sum{}) {
			continue
		}
		r := result{c.groups[k.group], c.sums[i]}
		r.key[c.currency] = k.currency
		if c.status >= 0 {
			r.key[c.status] = k.status
		}
		if c.day >= 0 {
			r.key[c.day] = k.day
		}
		if c.month >= 0 {
			r.key[c.month] = k.day / 100
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b result) int { return a.key.compare(&b.key) })
	return all
}

// text returns what stands in a column.
func (c *cells) text(r *result, column int) string {
	n := r.key[column]
	if column != c.day && column != c.month {
		return c.texts[column][n]
	}
	text, known := c.days[n]
	switch {
	case known:
	case column == c.day:
		text = dayText(int64(n))
	default:
		text = monthText(int64(n) * 100)
	}
	c.days[n] = text
	return text
}
