package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// The drawing, in units of the picture.
const (
	chartHeight           = 250
	chartLeft, chartRight = 80, 696
	chartTop              = 20
	chartBottom           = 36
	plotHeight            = chartHeight - chartTop - chartBottom
)

// chart is the commission of one currency by day, stacked by status.
type chart struct {
	Currency string
	Total    string // of all days
	Orders   int64
	Legend   []legend
	Bars     []bar
	Lines    []gridline
	Labels   []label
	Table    table
	Summary  string // for those who do not see the picture
	days     []day
	totals   map[string]int64 // by status
}

// legend names a colour.
type legend struct{ Class, Name, Total string }

// bar is a part of a day's column.
type bar struct {
	X, Y, Width, Height string
	Class, Title        string
}

// gridline is a value of the scale.
type gridline struct {
	Y, TextY string
	Text     string
}

// label is a day under the columns.
type label struct{ X, Text string }

// day is what the orders of a day earn, in hundredths by status.
type day struct {
	date   string
	orders int64
	earned map[string]int64
}

// stacked are the states that earn something, from the bottom.
var stacked = []schema.SettlementStatus{schema.Approved, schema.Confirmed, schema.Pending}

// chartsOf draws a chart of the same days for each currency, none before the first,
// the one with the most orders first.
func chartsOf(sums []commission.Sum, first string) []chart {
	by, last := make(map[string][]commission.Sum), ""
	for _, s := range sums {
		if s.Day != "" && s.Currency != "" {
			by[s.Currency] = append(by[s.Currency], s)
			last = max(last, s.Day)
		}
	}
	var all []chart
	for currency, sums := range by {
		all = append(all, chartOf(currency, sums, first, last))
	}
	slices.SortFunc(all, func(a, b chart) int {
		if a.Orders != b.Orders {
			return int(b.Orders - a.Orders)
		}
		return strings.Compare(a.Currency, b.Currency)
	})
	return all
}

func chartOf(currency string, sums []commission.Sum, first, last string) chart {
	c := chart{Currency: currency, totals: make(map[string]int64)}
	by := make(map[string]day)
	var total int64
	for i := range sums {
		s := &sums[i]
		cents, err := s.Commission.Cents()
		if err != nil { // more than a single order may have: the sum of a day all the same
			cents = largeCents(s.Commission.String())
		}
		d, ok := by[s.Day]
		if !ok {
			d = day{date: s.Day, earned: make(map[string]int64)}
		}
		d.orders += s.Orders
		d.earned[s.StatusName] += cents
		by[s.Day] = d
		c.Orders += s.Orders
		c.totals[s.StatusName] += cents
		total += cents
	}
	c.Total = grouped(total)
	c.days = everyDay(by, first, last)
	c.draw()
	c.tabulate()
	return c
}

// largeCents reads an amount in the usual writing, of any size that fits.
func largeCents(s string) int64 {
	n, err := strconv.ParseInt(strings.Replace(s, ".", "", 1), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// everyDay puts in the days without orders, up to the last; there are no more than a
// chart shows, and none before the first.
func everyDay(by map[string]day, first, until string) []day {
	last, err := time.Parse(time.DateOnly, until)
	if err != nil {
		return nil
	}
	var all []day
	for n := range chartDays {
		date := last.AddDate(0, 0, n+1-chartDays).Format(time.DateOnly)
		if date < first {
			continue
		}
		d, ok := by[date]
		if !ok {
			d = day{date: date}
		}
		all = append(all, d)
	}
	return all
}

func (c *chart) draw() {
	var top int64
	for _, d := range c.days {
		var sum int64
		for _, s := range stacked {
			sum += max(d.earned[s.String()], 0)
		}
		top = max(top, sum)
	}
	tick, ticks := scale(top)
	top = tick * ticks
	for n := range ticks + 1 {
		y := float64(chartTop+plotHeight) - float64(plotHeight)*float64(n)/float64(ticks)
		c.Lines = append(c.Lines, gridline{coordinate(y), coordinate(y + 4), tickText(tick*n, tick)})
	}
	step := float64(chartRight-chartLeft) / float64(max(len(c.days), 1))
	for i, d := range c.days {
		x, y := chartLeft+float64(i)*step, float64(chartTop+plotHeight)
		if i%5 == 0 {
			c.Labels = append(c.Labels, label{coordinate(x + step/2), d.date[5:]})
		}
		for _, s := range stacked {
			cents := d.earned[s.String()]
			if cents <= 0 {
				continue
			}
			height := float64(plotHeight) * float64(cents) / float64(top)
			y -= height
			c.Bars = append(c.Bars, bar{
				coordinate(x + step*0.12), coordinate(y), coordinate(step * 0.76), coordinate(height), strings.ToLower(s.String()),
				fmt.Sprintf("%s, %s: %s %s", d.date, s, amount(cents), c.Currency),
			})
		}
	}
	for _, s := range slices.Backward(stacked) {
		c.Legend = append(c.Legend, legend{strings.ToLower(s.String()), s.String(), grouped(c.totals[s.String()])})
	}
}

// tabulate makes the same as a table, and its sum in words.
func (c *chart) tabulate() {
	c.Table = table{Caption: "Commission by day of order, in " + c.Currency, Head: columns("Day", "#Orders", "#Pending", "#Confirmed", "#Approved")}
	for _, d := range slices.Backward(c.days) {
		of := drill{"from": {d.date}, "to": {d.date}, "currency": {c.Currency}}
		row := []cell{text(d.date), linked(count(uint64(d.orders)), of.href())}
		for _, s := range slices.Backward(stacked) {
			one := drill{"from": {d.date}, "to": {d.date}, "currency": {c.Currency}, "status": {s.String()}}
			row = append(row, linked(number(amount(d.earned[s.String()])), one.href()))
		}
		c.Table.Rows = append(c.Table.Rows, row)
	}
	var parts []string
	for _, l := range c.Legend {
		parts = append(parts, l.Name+" "+l.Total)
	}
	c.Summary = fmt.Sprintf("Commission by day of order, in %s: %s. The table below has every day.", c.Currency, strings.Join(parts, ", "))
}

// daysTable holds the days of all charts.
func daysTable(charts []chart) table {
	t := table{Caption: "Commission by day", Head: columns("Currency", "Day", "#Orders", "#Pending", "#Confirmed", "#Approved")}
	for i := range charts {
		for _, row := range charts[i].Table.Rows {
			t.Rows = append(t.Rows, append([]cell{text(charts[i].Currency)}, row...))
		}
	}
	return t
}

// grouped writes hundredths for people: with commas.
func grouped(cents int64) string {
	plain := amount(cents)
	units, fraction, _ := strings.Cut(plain, ".")
	sign := strings.TrimRight(units, "0123456789")
	n, err := strconv.ParseInt(strings.TrimPrefix(units, sign), 10, 64)
	if err != nil {
		return plain
	}
	return sign + humanize.Comma(n) + "." + fraction
}

// amount writes hundredths with two decimals.
func amount(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

func coordinate(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
