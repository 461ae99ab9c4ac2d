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
	zone   *time.Location
	closed string // last closed month, "" for none
	open   string // first open day, "" when no month is closed

	second int64  // memory: the last one asked for,
	day    string // and its answer
}

func newCalendar(zone *time.Location, closed string) calendar {
	c := calendar{zone: zone, closed: closed, second: -1}
	if closed != "" {
		c.open = after(closed) + firstDay
	}
	return c
}

// postedOn returns the day of t, or the first open one when its month is closed.
func (c *calendar) postedOn(t time.Time) string {
	if s := t.Unix(); c.day == "" || s != c.second {
		c.second, c.day = s, max(t.In(c.zone).Format(time.DateOnly), c.open)
	}
	return c.day
}

func monthOf(day string) string { return day[:len(monthLayout)] }
