package poller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// stored is a log with a cursor and nothing else.
type stored struct {
	Log
	cursor string
}

func (s stored) LoadCursor(_ context.Context, _ string, v any) (bool, error) {
	if s.cursor == "" {
		return false, nil
	}
	return true, json.Unmarshal([]byte(s.cursor), v)
}

// What was read, its gaps, and how much is open, by both kinds of order fields.
func TestCovered(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	day := func(d int, rest string) time.Time {
		at, err := time.ParseDuration(rest)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC).Add(at)
	}
	read := func(windows map[int]time.Time) string {
		var all []string
		for d, at := range windows {
			all = append(all, fmt.Sprintf(`"%d":%d`, day(d, "0s").Unix(), at.Unix()))
		}
		return `{"order_field":"OrderDatatime","read":{` + strings.Join(all, ",") + "}}"
	}
	for _, tt := range []struct {
		name, field, cursor string
		until               time.Time
		gaps                string
		unread              time.Duration
	}{
		{"nothing", UpdateTime, "", time.Time{}, "[]", 96 * time.Hour},
		{"another field", UpdateTime, `{"order_field":"ChargeTime","to":"2026-11-20T11:00:00Z"}`, time.Time{}, "[]", 96 * time.Hour},
		{"an hour ago", UpdateTime, `{"order_field":"UpdateTime","to":"2026-11-20T11:00:00Z"}`, day(20, "11h"), "[]", time.Hour},
		{"before the backfill", UpdateTime, `{"order_field":"UpdateTime","to":"2026-01-01T11:00:00Z"}`, time.Time{}, "[]", 96 * time.Hour},
		{"all windows", CreationTime, read(map[int]time.Time{16: now, 17: now, 18: now, 19: now, 20: now.Add(-time.Minute)}), now.Add(-time.Minute), "[]", time.Minute},
		{
			"two neighbours, and one that was read before it was over", CreationTime,
			read(map[int]time.Time{16: now, 19: day(19, "20h"), 20: now}), now, "[17 0h-19 0h 19 20h-20 0h]", 52 * time.Hour,
		},
		{"the newest windows", CreationTime, read(map[int]time.Time{16: now, 17: now, 18: now}), day(19, "0s"), "[]", 36 * time.Hour},
	} {
		p := New(Config{Account: Account{Name: "main", OrderField: tt.field, Backfill: 96 * time.Hour}, Log: stored{cursor: tt.cursor}, Now: func() time.Time { return now }})
		c, err := p.Covered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gaps := []string{}
		for _, g := range c.Gaps {
			gaps = append(gaps, fmt.Sprintf("%d %dh-%d %dh", g.From.Day(), g.From.Hour(), g.To.Day(), g.To.Hour()))
		}
		if unread := c.Unread(now); !c.Until.Equal(tt.until) || fmt.Sprint(gaps) != tt.gaps || unread != tt.unread {
			t.Errorf("%s: until %v, gaps %v, unread %v; want %v, %s, %v", tt.name, c.Until, gaps, unread, tt.until, tt.gaps, tt.unread)
		}
	}
}
