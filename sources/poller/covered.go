package poller

import (
	"context"
	"time"
)

// Covered is what of an account's time was read, from its backfill on.
type Covered struct {
	// OrderField names the time that is meant.
	OrderField string
	// From is where the backfill begins at present.
	From time.Time
	// Until is the end of what was read; the zero time when nothing was.
	Until time.Time
	// Gaps are what was not read between From and Until, the oldest first.
	Gaps []Window
}

// Unread is how much between From and now was not read: the gaps, and the time since
// Until, which the next poll reads.
func (c *Covered) Unread(now time.Time) time.Duration {
	end := c.Until
	if end.IsZero() {
		end = c.From
	}
	all := max(now.Sub(end), 0)
	for _, g := range c.Gaps {
		all += g.span()
	}
	return all
}

// Covered asks the log's cursor, so it knows what other processes have read, too.
func (p *Poller) Covered(ctx context.Context) (Covered, error) {
	var at progress
	if _, err := p.cfg.Log.LoadCursor(ctx, p.cursorName(), &at); err != nil {
		return Covered{}, err
	}
	a := &p.cfg.Account
	now := p.cfg.Now().UTC().Truncate(time.Second)
	c := Covered{OrderField: a.OrderField, From: now.Add(-a.Backfill)}
	switch {
	case at.OrderField != a.OrderField: // the windows of another field say nothing
	case a.OrderField == UpdateTime:
		if at.To.After(c.From) {
			c.Until = at.To.UTC()
		}
	default:
		c.rereads(a, at, now)
	}
	return c, nil
}

// rereads finds out what aligned windows leave open: those never read, and the ends
// of those that were read before they were over.
func (c *Covered) rereads(a *Account, at progress, now time.Time) {
	var open []Window
	c.From = c.From.Truncate(a.MaxSpan)
	for from := c.From; from.Before(now); from = from.Add(a.MaxSpan) {
		w := Window{from, from.Add(a.MaxSpan)}
		begin := w.From
		if read, known := at.Read[w.name()]; known {
			begin = time.Unix(read, 0).UTC()
			c.Until = earlier(begin, w.To)
		}
		if end := earlier(w.To, now); begin.Before(end) {
			open = append(open, Window{begin, end})
		}
	}
	for _, w := range open {
		if !w.From.Before(c.Until) {
			break
		}
		if n := len(c.Gaps); n > 0 && c.Gaps[n-1].To.Equal(w.From) {
			c.Gaps[n-1].To = w.To
			continue
		}
		c.Gaps = append(c.Gaps, w)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
