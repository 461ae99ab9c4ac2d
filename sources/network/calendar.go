package network

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// secondsOfDay is the length of a day on a clock that is not changed.
const secondsOfDay = 24 * 60 * 60

// calendar tells the days of a zone. The zero value is that of UTC, without a
// mark.
type calendar struct {
	zone *time.Location
	mark string // see zoneMark
}

func newCalendar(zone *time.Location) calendar { return calendar{zone, zoneMark(zone)} }

func (c calendar) at(t int64) time.Time {
	if c.zone == nil {
		return time.Unix(t, 0).UTC()
	}
	return time.Unix(t, 0).In(c.zone)
}

// day returns the day of a time in Unix seconds, as days since 1970-01-01.
func (c calendar) day(t int64) int64 {
	_, offset := c.at(t).Zone()
	return (t + int64(offset) - c.second(t)) / secondsOfDay
}

// second is how much of the day the clock shows, in seconds.
func (c calendar) second(t int64) int64 {
	_, offset := c.at(t).Zone()
	n := (t + int64(offset)) % secondsOfDay
	if n < 0 {
		n += secondsOfDay
	}
	return n
}

// until returns the first time after t that may be of another day: midnight, or
// a change of the clock before it.
func (c calendar) until(t int64) int64 {
	midnight := t - c.second(t) + secondsOfDay
	if end, known := clockChange(c.at(t)); known {
		return min(midnight, end.Unix())
	}
	return midnight
}

// clockChange returns when the clock is changed next, or a time before that; it
// may know of none. The end that [time.Time.ZoneBounds] gives for December 31 of
// a leap year can be in its past.
func clockChange(t time.Time) (time.Time, bool) {
	_, end := t.ZoneBounds()
	return end, end.After(t)
}

// dayText writes a day as yyyy-MM-dd.
func dayText(day int64) string { return time.Unix(day*secondsOfDay, 0).UTC().Format(time.DateOnly) }

// zoneMark is the name of a zone and a hash of its clock from 1970 to 2100, so
// that the same name with other rules is another mark.
func zoneMark(zone *time.Location) string {
	hash := sha256.New()
	end, last := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), -1
	for t := time.Unix(0, 0).In(zone); t.Before(end); {
		if _, offset := t.Zone(); offset != last {
			fmt.Fprintf(hash, "%d %d\n", t.Unix(), offset)
			last = offset
		}
		next, known := clockChange(t)
		if !known {
			next = t.AddDate(0, 0, 1)
		}
		t = next
	}
	return zone.String() + " " + hex.EncodeToString(hash.Sum(nil)[:8])
}

// markedZone is the name in a mark.
func markedZone(mark string) string {
	return mark[:max(strings.LastIndexByte(mark, ' '), 0)]
}

// calendarOf chooses the days of a database that has those of a mark, "" for a
// new one. Without a zone they stay as they are.
func calendarOf(zone *time.Location, mark string) (calendar, error) {
	switch {
	case zone != nil:
		return newCalendar(zone), nil
	case mark == "":
		return newCalendar(shanghai()), nil
	}
	stays := shanghai()
	if markedZone(mark) != stays.String() {
		var err error
		if stays, err = time.LoadLocation(markedZone(mark)); err != nil {
			return calendar{}, &ConfigError{"TimeZone", fmt.Sprintf("the database has the days of %q, which is not known here; give a zone", markedZone(mark))}
		}
	}
	return newCalendar(stays), nil
}
