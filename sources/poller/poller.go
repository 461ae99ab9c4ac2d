package poller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

// Poller polls one account. Create it with [New].
type Poller struct {
	cfg    Config
	stats  counters
	buried memory
}

type counters struct {
	polls, pages, details, created, changed, unchanged, bad atomic.Int64
	hints, failures                                         atomic.Int64
	lastPoll, lastWindow, lastSign                          atomic.Int64 // Unix nanoseconds
	failure                                                 atomic.Pointer[string]
}

// Stats counts what a poller did since it was made.
type Stats struct {
	Account   string
	Polls     int64     // complete polls
	Pages     int64     // pages read
	Details   int64     // orders fetched because the list lacked their lines
	Created   int64     // order.created events
	Changed   int64     // other events
	Unchanged int64     // records that gave no event
	Bad       int64     // records that went to the dead letters
	Hints     int64     // orders fetched out of turn, see [Poller.Fetch]
	Failures  int64     // polls that failed
	LastPoll  time.Time // end of the last complete poll, zero for none
	Failure   string    // why the last poll failed, "" when it did not

	LastWindow time.Time // when a window was closed last: the log had all of it; zero for none
	LastSign   time.Time // last sign of life: a page read, a window closed, a poll that ended, also by failing; zero for none
}

// New returns a poller that has not begun.
func New(cfg Config) *Poller {
	return &Poller{cfg: cfg.withDefaults()}
}

// Stats may be called at any time from any goroutine.
func (p *Poller) Stats() Stats {
	s := Stats{
		Account: p.cfg.Account.Name, Polls: p.stats.polls.Load(), Pages: p.stats.pages.Load(),
		Details: p.stats.details.Load(), Created: p.stats.created.Load(), Changed: p.stats.changed.Load(),
		Unchanged: p.stats.unchanged.Load(), Bad: p.stats.bad.Load(), Hints: p.stats.hints.Load(),
		Failures: p.stats.failures.Load(),
	}
	s.LastPoll, s.LastWindow, s.LastSign = timeOf(&p.stats.lastPoll), timeOf(&p.stats.lastWindow), timeOf(&p.stats.lastSign)
	if f := p.stats.failure.Load(); f != nil {
		s.Failure = *f
	}
	return s
}

// timeOf is a time that is kept in Unix nanoseconds, 0 for none.
func timeOf(nanoseconds *atomic.Int64) time.Time {
	if n := nanoseconds.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Run polls at once and then again and again, until ctx ends. A failed poll is
// repeated sooner at first, then at longer and longer pauses up to the account's
// interval; what it had read before it failed is kept.
func (p *Poller) Run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = min(time.Second, p.cfg.Account.Every)
	pause.MaxInterval = p.cfg.Account.Every
	for {
		wait := p.cfg.Account.Every
		if err := p.Poll(ctx); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // cut off by the end of ctx, which is no failure
			}
			wait = pause.NextBackOff()
			p.cfg.Logger.Error("poll failed, other accounts go on", "account", p.cfg.Account.Name, "error", err, "again_in", wait.Round(time.Millisecond))
		} else {
			pause.Reset()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// Poll reads everything that is due once. When it returns nil, the log has
// every event that follows, and the cursor stands behind the last window. (Of an
// order that another poller changes at the same moment, the next poll tells.)
func (p *Poller) Poll(ctx context.Context) error {
	ctx, end := p.span(ctx, "poll", trace.SpanKindInternal)
	err := advise(p.poll(ctx))
	end(err)
	p.stats.lastSign.Store(p.cfg.Now().UnixNano())
	if err != nil {
		text := err.Error()
		p.stats.failure.Store(&text)
		if ctx.Err() == nil {
			p.stats.failures.Add(1)
		}
		return fmt.Errorf("account %s: %w", p.cfg.Account.Name, err)
	}
	p.stats.failure.Store(nil)
	p.stats.polls.Add(1)
	p.stats.lastPoll.Store(p.cfg.Now().UnixNano())
	return nil
}

// advise adds what to do to failures that no further poll will mend.
func advise(err error) error {
	var refused *openapi.RefusedError
	if errors.As(err, &refused) && !refused.Temporary() {
		return fmt.Errorf("the network refuses to answer: %w (check app_key, app_secret and service_prefix of the account, and this machine's clock)", err)
	}
	return err
}

func (p *Poller) poll(ctx context.Context) error {
	// Another process may have polled the account since: an order that it saw
	// change, and that has changed back, must not pass for unchanged.
	if err := p.cfg.Log.LoadIndex(ctx); err != nil {
		return err
	}
	var at progress
	if _, err := p.cfg.Log.LoadCursor(ctx, p.cursorName(), &at); err != nil {
		return err
	}
	a := &p.cfg.Account
	if at.OrderField != a.OrderField {
		at = progress{OrderField: a.OrderField}
	}
	return p.readWindows(ctx, a.plan(at, p.cfg.Now()), at)
}

// windowsAtOnce is the number of windows that are read side by side, so that
// the end of one does not keep the next waiting.
const windowsAtOnce = 2

// outcome is how the reading of a window ended.
type outcome struct {
	done chan struct{} // closed when it has
	ok   bool          // the window is closed, to be read after done
}

// readWindows reads the windows and moves the cursor behind them, one after the
// other, each when the log has everything of it. After a failure no window is
// begun any more; those before the one that failed are read to their end.
func (p *Poller) readWindows(ctx context.Context, windows []Window, at progress) error {
	var group errgroup.Group // whose first error is the one to report
	group.SetLimit(windowsAtOnce)
	var failed atomic.Bool
	before := &outcome{done: make(chan struct{}), ok: true}
	close(before.done)
	for _, w := range windows {
		if failed.Load() {
			break
		}
		previous, own := before, &outcome{done: make(chan struct{})}
		before = own
		group.Go(func() error {
			defer close(own.done)
			err := p.readWindow(ctx, w, previous, &at)
			own.ok = err == nil
			if err != nil {
				failed.Store(true)
				return fmt.Errorf("orders from %s to %s: %w", w.From.Format(time.RFC3339), w.To.Format(time.RFC3339), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// errBefore says that a window stays open because the one before it does.
var errBefore = errors.New("the window before it was not read")

// readWindow reads a window, waits until the one before is closed, and closes
// this one. The progress is its own from then on.
func (p *Poller) readWindow(ctx context.Context, w Window, previous *outcome, at *progress) error {
	r := &recorder{Poller: p}
	covered, err := r.readWindow(ctx, w)
	if err != nil {
		return err
	}
	if p.cfg.Account.OrderField == CreationTime {
		if err := r.findVanished(ctx, w, &covered); err != nil {
			return err
		}
	}
	<-previous.done // which ends soon when ctx does
	if !previous.ok {
		return errBefore
	}
	at.advance(&p.cfg.Account, w, p.cfg.Now())
	return p.close(ctx, w, covered, *at)
}

// close moves the cursor behind a window and remembers that it was read.
func (p *Poller) close(ctx context.Context, w Window, c Coverage, at progress) error {
	c.ClosedAt = p.cfg.Now().UTC()
	if err := p.cfg.Log.SaveCoverage(ctx, p.coverageName(w), c); err != nil {
		return err
	}
	if err := p.cfg.Log.SaveCursor(ctx, p.cursorName(), at); err != nil {
		return err
	}
	now := p.cfg.Now().UnixNano()
	p.stats.lastWindow.Store(now)
	p.stats.lastSign.Store(now)
	return nil
}

func (p *Poller) coverageName(w Window) string {
	return schema.EscapeToken(p.cfg.Account.Name) + "." + w.name()
}

func (p *Poller) cursorName() string { return cursorOf(p.cfg.Account.Name) }
