package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/orderwire/orderwire/schema"
)

// figures are the numbers of a row of statistics, in the order of figureColumns.
type figures [9]int64

// Places in figures.
const (
	figureClicks = iota
	figureOrders
	figurePrice
	figureCommission
	figureInvalid
	figureConfirmed
	figureApproved
	figureConfirmPrice
	figureConfirmCommission
)

var figureColumns = []string{
	"clicks", "orders", "orders_cents", "commission_cents", "invalid_orders", "confirmed_orders", "approved_orders",
	"confirm_cents", "confirm_commission_cents",
}

// statisticsKey is the primary key of statistics.
const statisticsKey = "publisher_id, by_sub, day, program_id, website_id, sub_id, currency, charge_currency"

// statisticsRow is a row's key.
type statisticsRow struct {
	publisher, bySub, day   int64
	program, website, subID string
	currency, charge        string
}

// share is what an order or a click adds to the statistics.
type share struct {
	publisher, at           int64 // at in Unix seconds
	program, website, subID string
	currency, charge        string
	figures                 figures
}

// share is what the order adds at present.
func (o *order) share() share {
	s := share{publisher: o.publisher, at: o.placed, program: o.program, website: o.website, subID: o.subID, currency: o.currency}
	f := &s.figures
	f[figureClicks], f[figureOrders], f[figurePrice], f[figureCommission] = o.clicks, 1, int64(o.price), int64(o.commission)
	switch o.status {
	case schema.Invalid:
		f[figureInvalid] = 1
	case schema.Confirmed:
		f[figureConfirmed] = 1
	case schema.Approved:
		f[figureApproved] = 1
	}
	if o.charge.at != 0 {
		s.charge = o.charge.currency
		f[figureConfirmPrice], f[figureConfirmCommission] = int64(o.charge.price), int64(o.charge.commission)
	}
	return s
}

// statistics are what a change adds to the table.
type statistics map[statisticsRow]figures

// move counts the order as it is now and no longer as it was before.
func (s statistics) move(days calendar, o *order) {
	now := o.share()
	if now == o.shared {
		return
	}
	if o.shared.publisher != 0 {
		s.add(days, o.shared, -1)
	}
	s.add(days, now, 1)
	o.shared = now
}

// countClick counts a click at a time in Unix seconds. Who writes a row of
// clicks calls it in the same change.
func (c *change) countClick(publisher int64, program, website, subID string, at int64) {
	click := share{publisher: publisher, at: at, program: program, website: website, subID: subID}
	click.figures[figureClicks] = 1
	c.statistics.add(c.days, click, 1)
}

func (s statistics) add(days calendar, sh share, times int64) {
	row := statisticsRow{sh.publisher, 0, days.day(sh.at), sh.program, sh.website, "", sh.currency, sh.charge}
	s.sum(row, sh.figures, times)
	row.bySub, row.subID = 1, sh.subID
	s.sum(row, sh.figures, times)
}

func (s statistics) sum(row statisticsRow, f figures, times int64) {
	sum := s[row]
	for i := range sum {
		sum[i] += times * f[i]
	}
	s[row] = sum
}

// errOtherDays: the days of the database are no longer those of this process.
var errOtherDays = errors.New("statistics: the database was opened with another time zone meanwhile, start this process again with that one")

// saveStatistics writes the statistics of the change, in the order of their key,
// and removes rows that count nothing any more.
func (c *change) saveStatistics(ctx context.Context) error {
	rows := c.statistics.changed()
	if len(rows) > 0 && c.zone != c.days.mark {
		return errOtherDays
	}
	for rest := rows; len(rest) > 0; {
		size := countSizes[slices.IndexFunc(countSizes, func(size int) bool { return size <= len(rest) })]
		if err := c.exec(ctx, statisticsStatement(size), c.statisticsValues(rest[:size])...); err != nil {
			return fmt.Errorf("statistics: %w", err)
		}
		rest = rest[size:]
	}
	for _, row := range rows {
		if f := c.statistics[row]; f[figureOrders] >= 0 && f[figureClicks] >= 0 {
			continue
		}
		if err := c.exec(ctx, emptyStatement, row.values()...); err != nil {
			return fmt.Errorf("statistics: %w", err)
		}
	}
	clear(c.statistics)
	return nil
}

// changed returns the rows with something to add.
func (s statistics) changed() []statisticsRow {
	rows := make([]statisticsRow, 0, len(s))
	for row, f := range s {
		if f != (figures{}) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b statisticsRow) int {
		return cmp.Or(cmp.Compare(a.publisher, b.publisher), cmp.Compare(a.bySub, b.bySub), cmp.Compare(a.day, b.day),
			cmp.Compare(a.program, b.program), cmp.Compare(a.website, b.website), cmp.Compare(a.subID, b.subID),
			cmp.Compare(a.currency, b.currency), cmp.Compare(a.charge, b.charge))
	})
	return rows
}

// values are the columns of statisticsKey.
func (r statisticsRow) values() []any {
	return []any{r.publisher, r.bySub, r.day, r.program, r.website, r.subID, r.currency, r.charge}
}

func (c *change) statisticsValues(rows []statisticsRow) []any {
	args := make([]any, 0, len(rows)*(8+len(figures{})))
	for _, row := range rows {
		args = append(args, row.values()...)
		for _, n := range c.statistics[row] {
			args = append(args, n)
		}
	}
	return args
}

const emptyStatement = `DELETE FROM statistics WHERE publisher_id = ? AND by_sub = ? AND day = ? AND program_id = ?
	AND website_id = ? AND sub_id = ? AND currency = ? AND charge_currency = ? AND clicks = 0 AND orders = 0`

// intoStatistics begins, and addStatistics ends a statement that adds to rows.
var (
	intoStatistics = "INSERT INTO statistics (" + statisticsKey + ", " + strings.Join(figureColumns, ", ") + ") "
	addStatistics  = addFigures()
)

func addFigures() string {
	sums := make([]string, len(figureColumns))
	for i, column := range figureColumns {
		sums[i] = column + " = statistics." + column + " + excluded." + column
	}
	return " ON CONFLICT (" + statisticsKey + ") DO UPDATE SET " + strings.Join(sums, ", ")
}

func statisticsStatement(rows int) string {
	row := "(?" + strings.Repeat(", ?", 7+len(figureColumns)) + ")"
	return intoStatistics + "VALUES " + row + strings.Repeat(", "+row, rows-1) + addStatistics
}
