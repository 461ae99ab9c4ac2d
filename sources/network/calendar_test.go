package network

import (
	"testing"
	"time"
)

// A day is the date on the clock of the zone, and until finds every change of
// it: also where the clock is changed at midnight, and before 1970.
func TestCalendar(t *testing.T) {
	for _, name := range []string{"Asia/Shanghai", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		c := newCalendar(zone)
		for _, begin := range []time.Time{
			time.Date(2018, 10, 30, 5, 0, 0, 0, zone), time.Date(2026, 10, 20, 5, 0, 0, 0, zone), time.Date(1965, 1, 1, 0, 0, 0, 0, zone), time.Date(2011, 12, 25, 0, 0, 0, 0, zone), time.Date(2040, 12, 25, 0, 0, 0, 0, zone), time.Date(2027, 3, 25, 0, 0, 0, 0, zone),
		} {
			until := c.until(begin.Unix())
			for at := begin.Unix(); at < begin.Unix()+10*secondsOfDay; at += 600 {
				date := time.Unix(at, 0).In(zone).Format(time.DateOnly)
				if got := dayText(c.day(at)); got != date {
					t.Fatalf("%s: %d is on %s, not %s", name, at, date, got)
				}
				if at >= until {
					until = c.until(at)
				}
				if last := dayText(c.day(until - 1)); last != date || until <= at {
					t.Fatalf("%s: %s at %d goes until %d, which is on %s", name, date, at, until, last)
				}
			}
		}
	}
}

// The rules of a zone are part of its mark, its name is not all.
func TestZoneMark(t *testing.T) {
	a, b := time.FixedZone("x", 3600), time.FixedZone("x", 7200)
	if zoneMark(a) == zoneMark(b) || zoneMark(a) != zoneMark(time.FixedZone("x", 3600)) || markedZone(zoneMark(a)) != "x" {
		t.Errorf("%q and %q", zoneMark(a), zoneMark(b))
	}
	if day := (calendar{}).day(-1); day != -1 {
		t.Errorf("the second before 1970 is on day %d", day)
	}
}
