package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// clocked is a log in which an event comes every so often.
type clocked struct {
	Log
	begin time.Time
	every time.Duration
	asked int
}

// SequenceAt implements [Log].
func (l *clocked) SequenceAt(_ context.Context, at time.Time) (uint64, error) {
	l.asked++
	if at.Before(l.begin) {
		return 1, nil
	}
	return 1 + uint64((at.Sub(l.begin)+l.every-1)/l.every), nil
}

// The minutes are counted from the log, and each is asked for once.
func TestPace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 30, 0, time.UTC)
	log := &clocked{begin: now.Add(-10*time.Minute - 30*time.Second), every: 20 * time.Second}
	p := newPace(log, func() time.Time { return now })
	last, _ := log.SequenceAt(t.Context(), now)
	chart, err := p.look(t.Context(), clock{now: now}, last-1)
	if err != nil || chart == nil || len(chart.Bars) != 11 || chart.Now != "3" || chart.Top != "3" || !strings.Contains(chart.Summary, "32 in all") || len(chart.Table.Rows) != paceMinutes+1 {
		t.Fatalf("%+v, %v", chart, err)
	}
	if log.asked > 30 {
		t.Errorf("asked %d times, although nothing came in most minutes", log.asked)
	}
	now, log.asked = now.Add(time.Minute), 0
	if err := p.read(t.Context()); err != nil || log.asked != 1 {
		t.Errorf("%v, asked %d times a minute later", err, log.asked)
	}
	if len(p.starts) != paceMinutes+1 {
		t.Errorf("%d minutes are kept", len(p.starts))
	}
}

// Windows that touch or overlap are one stretch, in whatever order they come.
func TestSpans(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return time.Unix(int64(n), 0).UTC() }
	for windows, want := range map[[8]int]string{
		{0, 10, 10, 20, 5, 15, 20, 30}:       "[0-30]",
		{20, 30, 0, 10, 40, 50, 12, 18}:      "[0-10 12-18 20-30 40-50]",
		{20, 30, 0, 10, 40, 50, 5, 45}:       "[0-50]",
		{0, 10, 20, 30, 11, 19, 60, 61}:      "[0-30 60-61]",
		{100, 110, 50, 60, 0, 200, 300, 310}: "[0-200 300-310]",
	} {
		var a covered
		for i := 0; i < len(windows); i += 2 {
			a.add(span{at(windows[i]), at(windows[i+1])})
		}
		var got []string
		for _, s := range a.spans {
			got = append(got, fmt.Sprintf("%d-%d", s.from.Unix(), s.to.Unix()))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v: %v, want %s", windows, got, want)
		}
	}
}

// The first reading of much is not waited for.
func TestReading(t *testing.T) {
	t.Parallel()
	free, begun := make(chan struct{}), 0
	r := &reading{run: func(context.Context) error {
		begun++
		<-free
		return nil
	}}
	if whole, err := r.refresh(t.Context()); whole || err != nil {
		t.Errorf("%v, %v", whole, err)
	}
	done := r.begin(t.Context())
	close(free)
	<-done
	if whole, err := r.refresh(t.Context()); !whole || err != nil || begun != 1 {
		t.Errorf("%v, %v, begun %d times", whole, err, begun)
	}
}
