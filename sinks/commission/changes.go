package commission

import (
	"errors"
	"strconv"
)

// change is an entry of commission_changes: what a day of posting adds to the
// orders of a dimension that count as a status in a currency.
type change struct {
	dimension, currency, status int64
	sum
}

// changeNumbers is how many numbers an entry has.
const changeNumbers = 6

// append writes the entry behind others.
func (c *change) append(text []byte) []byte {
	if len(text) > 0 {
		text = append(text, ',')
	}
	text = append(text, '[')
	for i, n := range [changeNumbers]int64{c.dimension, c.currency, c.status, c.orders, c.amount, c.commission} {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return append(text, ']')
}

// errChanges says that a text of commission_changes is not what append writes.
var errChanges = errors.New("commission_changes holds a text that is no list of entries")

// readChanges gives each entry to add. It is strict, since nothing else checks
// these texts, and reads numbers itself, since there are millions of them.
func readChanges(text string, add func(change) error) error {
	var n [changeNumbers]int64
	for i := 0; i < len(text); {
		for field := range n {
			separator := byte(',')
			if field == 0 {
				separator = '['
			}
			if i >= len(text) || text[i] != separator {
				return errChanges
			}
			var ok bool
			if n[field], i, ok = readNumber(text, i+1); !ok {
				return errChanges
			}
		}
		if i >= len(text) || text[i] != ']' {
			return errChanges
		}
		if err := add(change{n[0], n[1], n[2], sum{n[3], n[4], n[5]}}); err != nil {
			return err
		}
		if i++; i < len(text) {
			if i++; text[i-1] != ',' || i == len(text) {
				return errChanges
			}
		}
	}
	return nil
}

// readNumber reads the number at i and returns the place behind it.
func readNumber(text string, i int) (n int64, end int, ok bool) {
	first := i
	if i < len(text) && text[i] == '-' {
		first++
	}
	for end = first; end < len(text) && text[end]-'0' <= 9; end++ {
		n = 10*n + int64(text[end]-'0')
	}
	switch {
	case end == first:
		return 0, end, false
	case end-first > safeDigits:
		n, err := strconv.ParseInt(text[i:end], 10, 64)
		return n, end, err == nil
	case first > i:
		return -n, end, true
	default:
		return n, end, true
	}
}

// safeDigits is how many digits a number has at most that is certain to fit.
const safeDigits = 18

var changeColumns = join(numbers("day", "part"), texts("entries"))

// partBits says how long a part of a day grows: until the log has gone on by 512
// sequences, and the batch that takes it there. A longer one would be written again
// too often where batches are short.
const partBits = 9

// changes returns rows for the sums under these keys, which are sorted. sequence is
// how far the log has been taken.
func (d *sums) changes(keys []sumKey, sequence int64) *rows {
	const table = "commission_changes"
	r := upsert(table, changeColumns, 2, []assignment{{"entries", table + ".entries || ',' || excluded.entries"}})
	var text []byte
	for i, k := range keys {
		c := change{k.dimension, k.currency, k.status, d.byDay[k]}
		text = c.append(text)
		if i == len(keys)-1 || keys[i+1].day != k.day {
			r.add(k.day, sequence>>partBits, string(text))
			text = text[:0]
		}
	}
	return r
}
