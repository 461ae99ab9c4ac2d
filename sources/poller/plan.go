package poller

import (
	"slices"
	"strconv"
	"time"
)

// UpdateTime is the order field that changes with every change of an order
// (network facts, OrderField). Any other field makes the poller read old
// windows again, on a schedule that grows sparser with age.
const UpdateTime = "UpdateTime"

// CreationTime is the order field that never changes (the spelling is the
// network's), so that an order that leaves its window has vanished.
const CreationTime = "OrderDatatime"

// Window is a span of time, both ends included, whole seconds.
type Window struct {
	From, To time.Time
}

func (w Window) span() time.Duration { return w.To.Sub(w.From) }

// halves splits a window; both halves hold the second in the middle, because
// it is not known whether a network includes the end.
func (w Window) halves() (Window, Window) {
	middle := w.From.Add(w.span() / 2).Truncate(time.Second)
	return Window{w.From, middle}, Window{middle, w.To}
}

// progress is the stored cursor of an account.
type progress struct {
	// OrderField is the field by which the windows were read; another one in
	// the configuration starts anew.
	OrderField string `json:"order_field"`
	// To is the end of the time that was read without a gap, by UpdateTime.
	To time.Time `json:"to,omitzero"`
	// Read holds, for other order fields, when each window was read last: Unix
	// seconds of the window's begin → Unix seconds of the reading.
	Read map[string]int64 `json:"read,omitempty"`
}

// plan returns the windows of a poll, oldest first.
func (a *Account) plan(p progress, now time.Time) []Window {
	now = now.Truncate(time.Second)
	if a.OrderField != UpdateTime {
		return a.planRereads(p, now)
	}
	from := now.Add(-a.Backfill)
	if !p.To.IsZero() {
		from = p.To.Add(-a.Overlap)
	}
	return split(from.Truncate(time.Second), now, a.MaxSpan)
}

func split(from, to time.Time, span time.Duration) []Window {
	var all []Window
	for from.Before(to) {
		end := from.Add(span)
		if end.After(to) {
			end = to
		}
		all = append(all, Window{from, end})
		from = end
	}
	return all
}

// planRereads returns the windows that are due, aligned to multiples of the
// span, so that a window keeps its name from poll to poll.
func (a *Account) planRereads(p progress, now time.Time) []Window {
	var due []Window
	first := now.Add(-a.Backfill).Truncate(a.MaxSpan)
	for from := first; from.Before(now); from = from.Add(a.MaxSpan) {
		w := Window{from, from.Add(a.MaxSpan)}
		if w.To.After(now) {
			w.To = now
		}
		read, known := p.Read[w.name()]
		if !known || now.Sub(time.Unix(read, 0)) >= rereadEvery(now.Sub(w.To), a.Every) {
			due = append(due, w)
		}
	}
	return due
}

// rereadEvery is how often a window of that age is read again.
func rereadEvery(age, every time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch {
	case age <= day:
		return 0
	case age <= 7*day:
		return max(time.Hour, every)
	case age <= 30*day:
		return max(6*time.Hour, every)
	default:
		return max(day, every)
	}
}

func (w Window) name() string { return strconv.FormatInt(w.From.Unix(), 10) }

// advance notes that a window was read completely.
func (p *progress) advance(a *Account, w Window, now time.Time) {
	if a.OrderField == UpdateTime {
		p.To = w.To
		return
	}
	if p.Read == nil {
		p.Read = make(map[string]int64)
	}
	p.Read[w.name()] = now.Unix()
	p.forget(now.Add(-a.Backfill - a.MaxSpan))
}

// forget drops windows that began before a time.
func (p *progress) forget(before time.Time) {
	var old []string
	for name := range p.Read {
		if from, err := strconv.ParseInt(name, 10, 64); err != nil || from < before.Unix() {
			old = append(old, name)
		}
	}
	slices.Sort(old)
	for _, name := range old {
		delete(p.Read, name)
	}
}
