package duckdbtest

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// tally counts and sums under a key, as GROUP BY does. All of it comes from the
// events, nothing from the archive.
type tally map[string]*group

type group struct {
	count int
	sums  []*decimal.Decimal // nil as long as there is nothing to add, as SQL has it
}

func (t tally) add(key string, amounts ...schema.Money) {
	g := t[key]
	if g == nil {
		g = &group{sums: make([]*decimal.Decimal, len(amounts))}
		t[key] = g
	}
	g.count++
	for i, m := range amounts {
		if !m.Known() {
			continue
		}
		sum := m.Decimal()
		if g.sums[i] != nil {
			sum = sum.Add(*g.sums[i])
		}
		g.sums[i] = &sum
	}
}

// rows writes the groups as lake.ask does: key, count, sums.
func (t tally) rows() []string {
	var all []string
	for key, g := range t {
		row := fmt.Sprintf("%s|%d", key, g.count)
		for _, sum := range g.sums {
			if sum == nil {
				row += "|NULL"
			} else {
				row += "|" + sum.StringFixed(2)
			}
		}
		all = append(all, row)
	}
	return all
}

// key joins texts as lake.ask does.
func key(parts ...any) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = fmt.Sprint(p)
		if t, ok := p.(schema.Text); ok && t.IsZero() {
			texts[i] = "NULL"
		}
	}
	return strings.Join(texts, "|")
}

// statusName names a status by hand, from the specification.
func statusName(t schema.Text) string {
	return cmp.Or(map[string]string{"-1": "Invalid", "0": "Pending", "1": "Confirmed", "2": "Approved"}[t.String()], "NULL")
}

// instant reads a time of an order in its zone; false when the field holds none.
func instant(tb testing.TB, zone string, t schema.Text) (time.Time, bool) {
	tb.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		tb.Fatal(err)
	}
	at, err := time.ParseInLocation(time.DateTime, t.String(), loc)
	return at, err == nil
}

// extremes are the least and the greatest of some times under a key.
type extremes map[string][2]int64

func (x extremes) add(key string, at time.Time) {
	us := at.UnixMicro()
	e, seen := x[key]
	if !seen {
		e = [2]int64{us, us}
	}
	x[key] = [2]int64{min(e[0], us), max(e[1], us)}
}

func (x extremes) rows() []string {
	var all []string
	for key, e := range x {
		all = append(all, fmt.Sprintf("%s|%d|%d", key, e[0], e[1]))
	}
	return all
}
