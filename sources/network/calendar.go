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
	if _, end := c.at(t).ZoneBounds(); !end.IsZero() {
		return min(midnight, end.Unix())
	}
	return midnight
}

// dayText writes a day as yyyy-MM-dd.
func dayText(day int64) string { return time.Unix(day*secondsOfDay, 0).UTC().Format(time.DateOnly) }

// zoneMark is the name of a zone and a hash of its clock from 1970 to 2100, so
// that the same name with other rules is another mark.
func zoneMark(zone *time.Location) string {
	hash := sha256.New()
	end := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for t := time.Unix(0, 0).In(zone); !t.IsZero() && t.Before(end); _, t = t.ZoneBounds() {
		_, offset := t.Zone()
		fmt.Fprintf(hash, "%d %d\n", t.Unix(), offset)
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
