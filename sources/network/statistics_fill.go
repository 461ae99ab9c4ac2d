package network

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// counted is a table that statistics are made of.
type counted struct {
	table, at        string // at is the column with the time
	currency, charge string
	group            string // what the currencies add to GROUP BY
	figures          string
}

var countedTables = []counted{
	{"orders", "order_time", "currency", "COALESCE(charge_currency, '')", ", currency, charge_currency", `SUM(simulated_clicks), COUNT(*), SUM(orders_cents), SUM(commission_cents),
		SUM(CASE status WHEN -1 THEN 1 ELSE 0 END), SUM(CASE status WHEN 1 THEN 1 ELSE 0 END), SUM(CASE status WHEN 2 THEN 1 ELSE 0 END),
		COALESCE(SUM(confirm_cents), 0), COALESCE(SUM(confirm_commission_cents), 0)`},
	{"clicks", "at", "''", "''", "", "COUNT(*)" + strings.Repeat(", 0", len(figures{})-1)},
}

// fill adds a part of the table, of one day, to the rows of each sub id or to
// those of all together.
func (t counted) fill(bySub string) string {
	sub, group := "''", "publisher_id, program_id, website_id"
	if bySub == "1" {
		sub, group = "sub_id", group+", sub_id"
	}
	return intoStatistics + "SELECT publisher_id, " + bySub + ", CAST(? AS BIGINT), program_id, website_id, " + sub + ", " + t.currency + ", " + t.charge +
		", " + t.figures + " FROM " + t.table + " WHERE publisher_id = ? AND " + t.at + " >= ? AND " + t.at + " < ?" +
		" GROUP BY " + group + t.group + addStatistics
}

// alignDays makes the statistics those of a zone's days, of the days that they
// have when it is nil, and returns the zone. Another zone than before has them
// counted again, for which nothing is written meanwhile.
func (s *store) alignDays(ctx context.Context, zone *time.Location, log *slog.Logger) (*time.Location, error) {
	var mark string
	err := s.row(ctx, `SELECT zone FROM counters WHERE id = 1`, nil, &mark)
	if err != nil {
		return nil, fmt.Errorf("zone of the statistics: %w", err)
	}
	if s.days, err = calendarOf(zone, mark); err != nil || s.days.mark == mark {
		return s.days.zone, err
	}
	if mark != "" {
		log.Info("statistics are counted again by the days of another time zone", "from", markedZone(mark), "to", s.days.zone.String())
	}
	return s.days.zone, s.change(ctx, func(c *change) error { return c.countAgain(ctx) })
}

// countAgain fills the statistics from orders and clicks.
func (c *change) countAgain(ctx context.Context) error {
	if c.zone == c.days.mark { // another process was faster
		return nil
	}
	if err := c.exec(ctx, `DELETE FROM statistics`); err != nil {
		return err
	}
	publishers, err := c.publishers(ctx)
	if err != nil {
		return err
	}
	for _, publisher := range publishers {
		for _, table := range countedTables {
			if err := c.countTable(ctx, publisher, table); err != nil {
				return fmt.Errorf("count %s again: %w", table.table, err)
			}
		}
	}
	c.zone = c.days.mark
	return c.exec(ctx, `UPDATE counters SET zone = ? WHERE id = 1`, c.zone)
}

func (c *change) publishers(ctx context.Context) ([]int64, error) {
	st, err := c.statement(ctx, `SELECT id FROM publishers ORDER BY id`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("publishers: %w", err)
	}
	defer rows.Close()
	var all []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("publishers: %w", err)
		}
		all = append(all, id)
	}
	return all, rows.Err()
}

// countTable goes from day to day, so that no statement has to sort much.
func (c *change) countTable(ctx context.Context, publisher int64, table counted) error {
	next := "SELECT " + table.at + " FROM " + table.table + " WHERE publisher_id = ? AND " + table.at + " >= ? ORDER BY " + table.at + " LIMIT 1"
	for from := int64(-1 << 62); ; {
		found, err := c.found(ctx, next, []any{publisher, from}, &from)
		if !found || err != nil {
			return err
		}
		until := c.days.until(from)
		for _, bySub := range []string{"0", "1"} {
			if err := c.exec(ctx, table.fill(bySub), c.days.day(from), publisher, from, until); err != nil {
				return err
			}
		}
		from = until
	}
}
