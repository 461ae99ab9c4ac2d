package archive

import (
	"time"

	"github.com/orderwire/orderwire/schema"
)

// amount puts an amount in hundredths. A text that the number does not give
// back goes to the untyped column as well.
func (s *source) amount(c *column, field string, m schema.Money) {
	if m.IsZero() {
		c.null()
		return
	}
	if cents, ok := plainCents(m.String()); ok {
		c.number(cents)
		return
	}
	s.keep(field, m.String())
	cents, err := m.Cents()
	if err != nil || !m.Known() {
		c.null()
		return
	}
	c.number(cents)
}

// plainCents reads an amount in the one form in which the column gives it back:
// at most 8 digits, a point, 2 digits; no superfluous zero, no negative zero.
func plainCents(s string) (int64, bool) {
	unsigned, negative := s, false
	if s != "" && s[0] == '-' {
		unsigned, negative = s[1:], true
	}
	point := len(unsigned) - 1 - schema.MoneyScale
	if point < 1 || point > schema.MaxAmountDigits || unsigned[point] != '.' || (unsigned[0] == '0' && point > 1) {
		return 0, false
	}
	whole, ok := digits(unsigned[:point])
	cents, ok2 := digits(unsigned[point+1:])
	n := int64(whole*100 + cents)
	if negative {
		return -n, ok && ok2 && n != 0
	}
	return n, ok && ok2
}

// time puts a time of the order, which the network gave in the order's zone.
func (s *source) time(c *column, field string, t schema.Text) {
	if t.IsZero() {
		c.null()
		return
	}
	if at, ok := plainTime(t.String(), s.zone); ok {
		c.number(at.UnixMicro())
		return
	}
	s.keep(field, t.String())
	if s.zone == nil {
		c.null()
		return
	}
	at, err := schema.ParseTime(t, s.zone)
	if err != nil || at.Year() < firstYear || at.Year() > lastYear {
		c.null()
		return
	}
	c.number(at.UnixMicro())
}

// Many readers hold a time in nanoseconds, which reach from 1677 to 2262. A time
// of the order beyond these years stays a text.
const (
	firstYear = 1678
	lastYear  = 2261
)

// plainTime reads a time in the one form in which the column gives it back:
// [schema.TimeLayout], at a moment that exists in the zone.
func plainTime(s string, zone *time.Location) (time.Time, bool) {
	if zone == nil || len(s) != len(schema.TimeLayout) ||
		s[4] != '-' || s[7] != '-' || s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, false
	}
	year, ok := digits(s[:4])
	var rest [5]int
	for i := range rest {
		n, plain := digits(s[5+3*i : 7+3*i])
		rest[i], ok = n, ok && plain
	}
	at := time.Date(year, time.Month(rest[0]), rest[1], rest[2], rest[3], rest[4], 0, zone)
	y, month, day := at.Date()
	hour, minute, second := at.Clock()
	back := [5]int{int(month), day, hour, minute, second}
	return at, ok && y == year && back == rest && year >= firstYear && year <= lastYear
}

// digits reads a number of at most 18 digits.
func digits(s string) (n int, ok bool) {
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int(d)
	}
	return n, true
}

// status is a status text with its meaning in the specification.
type status struct {
	known bool
	value int64
	name  string
}

// namedStatus is what the two enumerations of the specification have in common.
type namedStatus interface {
	schema.SettlementStatus | schema.LineStatus
	String() string
	Value() string
}

// plainStatuses are the statuses by the texts in which the column gives them
// back, their numbers.
func plainStatuses[S namedStatus](all []S) map[string]status {
	plain := make(map[string]status, len(all))
	for _, s := range all {
		plain[s.Value()] = status{known: true, value: int64(s), name: s.String()}
	}
	return plain
}

var (
	plainSettlement = plainStatuses(schema.SettlementStatuses())
	plainLine       = plainStatuses(schema.LineStatuses())
)

// readStatus types a status. A text that is not among the plain ones goes to the
// untyped column.
func readStatus[S namedStatus](s *source, field string, t schema.Text, plain map[string]status, parse func(string) (S, error)) status {
	if t.IsZero() {
		return status{}
	}
	if st, ok := plain[t.String()]; ok {
		return st
	}
	s.keep(field, t.String())
	v, err := parse(t.String())
	if err != nil {
		return status{}
	}
	return status{known: true, value: int64(v), name: v.String()}
}

func (st status) putValue(c *column) {
	if !st.known {
		c.null()
		return
	}
	c.number(st.value)
}

func (st status) putName(c *column) {
	if !st.known {
		c.null()
		return
	}
	c.string(st.name)
}
