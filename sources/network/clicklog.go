package network

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// clickQueue bounds the clicks that wait to be written; a link that is
	// followed beyond it leads on without a click.
	clickQueue = 65536
	// clickBatch bounds the clicks of one transaction.
	clickBatch = 1024
	// clickRetry is the longest pause after a transaction that failed.
	clickRetry = time.Second
	// clickDrain bounds how long closing waits for the clicks that are left.
	clickDrain = 5 * time.Second
)

// click is a row of clicks: somebody followed a link.
type click struct {
	id                      string
	link, publisher         int64
	website, program, subID string
	at                      int64 // Unix seconds
}

// clickLog writes clicks. Those that come while a transaction is under way
// share the next one, so a click waits for two commits at most, however many
// come. A redirect waits for its click, but no longer than clickWait: when the
// database is held for longer it goes out before, and the click is written as
// soon as it can be. A transaction that fails is tried until it passes. So a
// click that was given out is lost only with the process, within the time that
// the database was held, or when it cannot be written in clickDrain after the
// service was told to close. BenchmarkClick measures it: about half a
// millisecond for a click by itself, and thousands of clicks a second.
type clickLog struct {
	store  *store
	logger *slog.Logger
	cancel context.CancelFunc
	done   chan struct{} // closed when the writer has ended

	mu     sync.RWMutex // of closed, and of closing the queue
	closed bool
	queue  chan clickEntry
}

// clickEntry is a click with whom to tell that it is written. Without a link it
// is none: it tells that those before it are written.
type clickEntry struct {
	click   click
	written chan struct{}
}

var (
	errClicksFull   = errors.New("too many clicks wait to be written")
	errClicksClosed = errors.New("the service is closed")
)

func newClickLog(ctx context.Context, s *store, logger *slog.Logger) *clickLog {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &clickLog{store: s, logger: logger, cancel: cancel, done: make(chan struct{}), queue: make(chan clickEntry, clickQueue)}
	go l.run(ctx)
	return l
}

// add takes a click; the channel is closed when it is written, or lost.
func (l *clickLog) add(c click) (<-chan struct{}, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return nil, errClicksClosed
	}
	e := clickEntry{c, make(chan struct{})}
	select {
	case l.queue <- e:
		return e.written, nil
	default:
		return nil, errClicksFull
	}
}

// settle waits until the clicks that were taken before are written.
func (l *clickLog) settle(ctx context.Context) error {
	written, err := l.add(click{})
	if err != nil {
		return err
	}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close writes what is left and ends the writer.
func (l *clickLog) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	limit := time.AfterFunc(clickDrain, l.cancel)
	defer limit.Stop()
	<-l.done
	l.cancel()
}

func (l *clickLog) run(ctx context.Context) {
	defer close(l.done)
	for first := range l.queue {
		batch := l.gather(first)
		if err := l.write(ctx, batch); err != nil {
			l.logger.Error("clicks are lost", slog.Int("clicks", len(batch)), slog.Any("error", err))
		}
		for _, e := range batch {
			close(e.written)
		}
	}
}

// gather takes what is waiting, up to a batch.
func (l *clickLog) gather(first clickEntry) []clickEntry {
	batch := []clickEntry{first}
	for len(batch) < clickBatch {
		select {
		case e, more := <-l.queue:
			if !more {
				return batch
			}
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

// write writes a batch, until it succeeds or ctx ends.
func (l *clickLog) write(ctx context.Context, batch []clickEntry) error {
	if !slices.ContainsFunc(batch, func(e clickEntry) bool { return e.click.link != 0 }) {
		return nil
	}
	insert := l.insert
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, clickRetry) {
		err := insert(ctx, batch)
		if err == nil {
			return nil
		}
		insert = l.insertRest
		if pause < clickRetry {
			l.logger.Warn("clicks are held back", slog.Int("clicks", len(batch)), slog.Any("error", err))
		}
		again := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			again.Stop()
			return err
		case <-again.C:
		}
	}
}

// insert writes clicks and counts them.
func (l *clickLog) insert(ctx context.Context, batch []clickEntry) error {
	return l.store.change(ctx, func(c *change) error { return c.addClicks(ctx, batch) })
}

// insertRest writes those of the clicks that are not there: a commit may have
// come through though it said no.
func (l *clickLog) insertRest(ctx context.Context, batch []clickEntry) error {
	return l.store.change(ctx, func(c *change) error {
		var rest []clickEntry
		for _, e := range batch {
			known, err := c.found(ctx, `SELECT 1 FROM clicks WHERE id = ?`, []any{e.click.id}, new(int))
			if err != nil {
				return err
			}
			if !known {
				rest = append(rest, e)
			}
		}
		return c.addClicks(ctx, rest)
	})
}

func (c *change) addClicks(ctx context.Context, batch []clickEntry) error {
	rows := newBulk("clicks", "id, link_id, publisher_id, website_id, program_id, sub_id, at")
	for _, e := range batch {
		if k := e.click; k.link != 0 {
			rows.add(k.id, k.link, k.publisher, k.website, k.program, k.subID, k.at)
			c.countClick(k.publisher, k.program, k.website, k.subID, k.at)
		}
	}
	if len(rows.values) == 0 {
		return nil
	}
	return rows.write(ctx, c)
}

// queryName decodes the name of a parameter of a query.
func queryName(name string) string {
	if decoded, err := url.QueryUnescape(name); err == nil {
		return decoded
	}
	return name
}
