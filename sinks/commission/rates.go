package commission

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// Rates are exchange rates of days, which the user supplies. The rate of a day is
// that of the day itself, or the newest of the seven days before it.
type Rates struct {
	days map[pair][]rate // by day, ascending
}

type pair struct{ from, to string }

type rate struct {
	day   string
	value decimal.Decimal
	line  int
}

const rateDays = 7 // how old a rate may be

// RateError says which rate is missing, or which line of the rates is wrong.
type RateError struct {
	Line          int    // of the file, 0 for a missing rate
	Day, From, To string // of the missing rate; a day of "" for orders without a readable one
	Problem       string // what is wrong in the line
}

// Error says what to do.
func (e *RateError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("rates: line %d: %s", e.Line, e.Problem)
	}
	if e.Day == "" {
		return fmt.Sprintf("rates: there are orders in %s without a readable day, so no rate to %s can be chosen; choose days with --from or --to", e.From, e.To)
	}
	return fmt.Sprintf("rates: no rate from %s to %s for %s or the %d days before; add a line %s,%s,%s,RATE", e.From, e.To, e.Day, rateDays, e.Day, e.From, e.To)
}

// ReadRates reads lines of date,from,to,rate: a day YYYY-MM-DD, two currencies,
// and how much of the second one unit of the first is worth, as a plain decimal.
// A first line with these four words is left out. The error is a [*RateError].
func ReadRates(from io.Reader) (*Rates, error) {
	r := csv.NewReader(from)
	r.FieldsPerRecord, r.TrimLeadingSpace = 4, true
	rates := &Rates{days: map[pair][]rate{}}
	for n := 1; ; n++ {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rates, rates.sort()
		}
		if err != nil {
			line := n
			if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
				line = wrong.Line
			}
			return nil, &RateError{Line: line, Problem: "is not date,from,to,rate"}
		}
		line, _ := r.FieldPos(0)
		if n == 1 && slices.Equal(fields, []string{"date", "from", "to", "rate"}) {
			continue
		}
		if problem := rates.add(line, fields); problem != "" {
			return nil, &RateError{Line: line, Problem: problem}
		}
	}
}

func (r *Rates) add(line int, fields []string) (problem string) {
	day, p := strings.TrimSpace(fields[0]), pair{strings.TrimSpace(fields[1]), strings.TrimSpace(fields[2])}
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return "the date is no day; write it as YYYY-MM-DD"
	}
	if p.from == "" || p.to == "" || p.from == p.to {
		return "from and to must be two currencies"
	}
	m, err := schema.ParseMoney(strings.TrimSpace(fields[3]))
	if err != nil || !m.Decimal().IsPositive() {
		return "the rate is no positive decimal number"
	}
	r.days[p] = append(r.days[p], rate{day, m.Decimal(), line})
	return ""
}

func (r *Rates) sort() error {
	for p, days := range r.days {
		slices.SortFunc(days, func(a, b rate) int { return strings.Compare(a.day, b.day) })
		for i := range days[1:] {
			if days[i].day == days[i+1].day && !days[i].value.Equal(days[i+1].value) {
				return &RateError{
					Line:    max(days[i].line, days[i+1].line),
					Problem: fmt.Sprintf("is a second, different rate from %s to %s for %s", p.from, p.to, days[i].day),
				}
			}
		}
	}
	return nil
}

// Rate returns the rate of a day. The error is a [*RateError] that names day and
// currencies.
func (r *Rates) Rate(day, from, to string) (decimal.Decimal, error) {
	if from == to {
		return decimal.NewFromInt(1), nil
	}
	days := r.days[pair{from, to}]
	at, exact := slices.BinarySearchFunc(days, day, func(e rate, day string) int { return strings.Compare(e.day, day) })
	if !exact {
		at--
	}
	if day == "" || at < 0 {
		return decimal.Zero, &RateError{Day: day, From: from, To: to}
	}
	if age, ok := daysBetween(days[at].day, day); !ok || age > rateDays {
		return decimal.Zero, &RateError{Day: day, From: from, To: to}
	}
	return days[at].value, nil
}

// EarningsIn returns the earnings of q in one currency. Each day's sums are
// converted at the rate of that day and rounded to hundredths, half away from
// zero, before they are added up. The error is a [*RateError] for a rate that is
// missing, else as that of Earnings.
func (r *Reader) EarningsIn(ctx context.Context, q Query, currency string, rates *Rates) ([]Earned, error) {
	groups := len(q.Group)
	daily := q
	daily.Group = append(slices.Clone(q.Group), "day")
	all, err := r.Earnings(ctx, daily)
	if err != nil {
		return nil, err
	}
	sums := map[string]*convertedSum{}
	for i := range all {
		e := &all[i]
		rate, err := rates.Rate(e.Group[groups], e.Currency, currency)
		if err != nil {
			return nil, err
		}
		key := strings.Join(e.Group[:groups], "\x00")
		if sums[key] == nil {
			sums[key] = &convertedSum{group: e.Group[:groups]}
		}
		sums[key].add(e, rate)
	}
	earned := make([]Earned, 0, len(sums))
	for _, s := range sums {
		earned = append(earned, Earned{s.group, currency, s.orders, schema.NewMoney(s.amount), schema.NewMoney(s.commission)})
	}
	slices.SortFunc(earned, func(a, b Earned) int { return slices.Compare(a.Group, b.Group) })
	return earned, nil
}

type convertedSum struct {
	group              []string
	orders             int64
	amount, commission decimal.Decimal
}

func (s *convertedSum) add(e *Earned, rate decimal.Decimal) {
	s.orders += e.Orders
	s.amount = s.amount.Add(e.OrderAmount.Decimal().Mul(rate).Round(schema.MoneyScale))
	s.commission = s.commission.Add(e.Commission.Decimal().Mul(rate).Round(schema.MoneyScale))
}
