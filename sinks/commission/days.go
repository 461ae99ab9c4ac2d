package commission

import (
	"fmt"
	"strings"
	"time"
)

// Days are numbers in the books: 20260301, 0 for one that cannot be read.

// dayOf returns the date of a time as the network wrote it, 0 when there is none.
// What follows the date does not matter.
func dayOf(s string) int64 {
	s = strings.TrimSpace(s)
	if len(s) > len(time.DateOnly) {
		if sep := s[len(time.DateOnly)]; sep != ' ' && sep != 'T' {
			return 0
		}
		s = s[:len(time.DateOnly)]
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0
	}
	return dayNumber(t.Date())
}

func dayNumber(year int, month time.Month, day int) int64 {
	return int64(year*10000 + int(month)*100 + day)
}

// dayText writes a day as YYYY-MM-DD, "" for 0.
func dayText(day int64) string {
	if day == 0 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", day/10000, day/100%100, day%100)
}

// monthText writes the month of a day as YYYY-MM, "" for 0.
func monthText(day int64) string {
	if day == 0 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d", day/10000, day/100%100)
}

// monthDays returns two days between which all those of a month, YYYY-MM, lie.
func monthDays(month string) (from, to int64) {
	first := dayOf(month + firstDay)
	return first, first + 30
}

func midnight(day int64) time.Time {
	return time.Date(int(day/10000), time.Month(day/100%100), int(day%100), 0, 0, 0, 0, time.UTC)
}

// daysFrom counts the days from one to another.
func daysFrom(from, to int64) int64 {
	return int64(midnight(to).Sub(midnight(from)) / (24 * time.Hour))
}

// daysBetween is daysFrom for texts; not ok when one is no day.
func daysBetween(from, to string) (days int64, ok bool) {
	since, until := dayOf(from), dayOf(to)
	if since == 0 || until == 0 {
		return 0, false
	}
	return daysFrom(since, until), true
}
