package commission

import "time"

const (
	monthLayout = "2006-01"
	firstDay    = "-01"
)

// parseMonth reads YYYY-MM.
func parseMonth(s string) (time.Time, error) {
	t, err := time.Parse(monthLayout, s)
	if err != nil {
		return t, &FilterError{Field: "month", Problem: "is no month; write it as YYYY-MM, 2026-03 for instance"}
	}
	return t, nil
}

// after returns the month behind a month that parseMonth takes.
func after(month string) string {
	t, err := time.Parse(monthLayout, month)
	if err != nil {
		return ""
	}
	return t.AddDate(0, 1, 0).Format(monthLayout)
}

// calendar says where an observation is posted.
type calendar struct {
	zone *time.Location
	open int64 // first open day, 0 when no month is closed

	second int64 // memory: the last one asked for,
	day    int64 // and its answer
}

// newCalendar takes the last closed month, "" for none.
func newCalendar(zone *time.Location, closed string) calendar {
	c := calendar{zone: zone, second: -1}
	if closed != "" {
		c.open = dayOf(after(closed) + firstDay)
	}
	return c
}

// postedOn returns the day of t, or the first open one when its month is closed.
func (c *calendar) postedOn(t time.Time) int64 {
	if s := t.Unix(); c.day == 0 || s != c.second {
		c.second, c.day = s, max(dayNumber(t.In(c.zone).Date()), c.open)
	}
	return c.day
}
