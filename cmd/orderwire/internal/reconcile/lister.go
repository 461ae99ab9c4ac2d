package reconcile

import (
	"context"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// lister reads an account as its poller does, windows and pages, with a log that
// knows no order and keeps nothing: every record that the network lists comes as an
// event.
type lister struct {
	*job
	side    *Side
	account *Account
	into    *sorter             // nil: only the keys are kept, in changed
	changed map[uint64]struct{} // as in asked

	mu      sync.Mutex // guards what follows, and into and changed
	answers uint64     // so far: a later one replaces an earlier one
	windows int64
	total   int64
}

// read lists the orders whose time field lies between two times.
func (l *lister) read(ctx context.Context, field string, begin, end time.Time) error {
	if now := l.Now(); end.After(now) {
		end = now
	}
	end = end.Truncate(time.Second).Add(time.Second) // the end is included, and the clocks may differ by a second
	poll := l.account.Poll
	poll.OrderField, poll.Backfill = field, end.Sub(begin)
	l.windows, l.total = 0, int64(poll.Backfill/poll.MaxSpan)+1
	if poll.Backfill <= 0 {
		return nil
	}
	p := poller.New(poller.Config{
		Account: poll, Network: listing{l.account.Network}, Log: l, Publisher: l, Now: func() time.Time { return end },
	})
	return p.Poll(ctx)
}

// listing has the poller do without the details of orders: nothing of their lines
// is compared.
type listing struct{ poller.Network }

// Order implements [poller.Network].
func (listing) Order(context.Context, string, string) (openapi.OrderAnswer, error) {
	return openapi.OrderAnswer{}, openapi.ErrNotFound
}

// Publish implements [message.Publisher]: it takes the orders of a page in.
func (l *lister) Publish(_ string, messages ...*message.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range messages {
		e, err := schema.ParseEvent(m.Payload)
		if err != nil {
			return err
		}
		l.answers++
		r, err := l.audited(&schema.Entry{Sequence: l.answers, Event: e})
		if err != nil {
			return err
		}
		r.Version = 0
		if l.into == nil {
			l.changed[hashOf(r.Key.Program, r.Key.OrderSn)] = struct{}{}
			continue
		}
		if err := l.into.add(r); err != nil {
			return err
		}
	}
	return nil
}

// SaveCoverage implements [poller.Log]: a window was read.
func (l *lister) SaveCoverage(_ context.Context, _ string, v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.windows++
	l.Progress("network "+l.account.Poll.Name, "windows", l.windows, l.total)
	if c, ok := v.(poller.Coverage); ok && c.Unstable {
		l.side.Notes = append(l.side.Notes, "account "+l.account.Poll.Name+": the orders from "+c.From.Format(time.RFC3339)+" to "+c.To.Format(time.RFC3339)+" kept changing while they were read")
	}
	return nil
}

// Bury implements [poller.Log].
func (l *lister) Bury(_ context.Context, d pipeline.DeadLetter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.side.Notes = append(l.side.Notes, "account "+l.account.Poll.Name+": the network lists a record that is no readable order: "+d.Reason)
	return nil
}

// LoadIndex implements [poller.Log], as the methods below do.
func (l *lister) LoadIndex(context.Context) error { return nil }

// Lookup knows nothing, so that every record is taken for new.
func (l *lister) Lookup([]byte) (pipeline.Known, bool) { return pipeline.Known{}, false }

// Touch forgets.
func (l *lister) Touch(schema.OrderKey, uint64, uint64) {}

// Load knows nothing.
func (l *lister) Load(context.Context, schema.OrderKey) (pipeline.State, error) {
	return pipeline.State{}, nil
}

// Recall knows nothing.
func (l *lister) Recall(context.Context, schema.OrderKey) (pipeline.State, error) {
	return pipeline.State{}, nil
}

// LoadCursor finds none.
func (l *lister) LoadCursor(context.Context, string, any) (bool, error) { return false, nil }

// SaveCursor forgets.
func (l *lister) SaveCursor(context.Context, string, any) error { return nil }

// LoadCoverage finds none.
func (l *lister) LoadCoverage(context.Context, string, any) (bool, error) { return false, nil }

// Close implements [message.Publisher].
func (l *lister) Close() error { return nil }
