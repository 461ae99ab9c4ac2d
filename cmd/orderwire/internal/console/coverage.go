package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/sources/poller"
)

// span is a stretch of time.
type span struct{ from, to time.Time }

// touching is how far apart two windows may be without a gap: the network takes
// seconds.
const touching = time.Second

// covered is what is known of an account's closed windows.
type covered struct {
	spans   []span // ascending, apart from each other
	windows int64
	newest  time.Time // when the last one was closed
	doubts  int64     // windows that changed while they were read
}

// gaps are the stretches between the first and the last window in which none was
// closed.
func (a *covered) gaps() []span {
	var all []span
	for i := 1; i < len(a.spans); i++ {
		all = append(all, span{a.spans[i-1].to, a.spans[i].from})
	}
	return all
}

func (a *covered) add(s span) {
	at, _ := slices.BinarySearchFunc(a.spans, s, func(e, s span) int {
		if e.to.Add(touching).Before(s.from) {
			return -1
		}
		return 1
	})
	end := at
	for end < len(a.spans) && !a.spans[end].from.After(s.to.Add(touching)) {
		if a.spans[end].from.Before(s.from) {
			s.from = a.spans[end].from
		}
		if a.spans[end].to.After(s.to) {
			s.to = a.spans[end].to
		}
		end++
	}
	a.spans = slices.Replace(a.spans, at, end, s)
}

// coverage is what the log knows of closed windows. It reads each of them once.
type coverage struct {
	reading
	log Log

	mu     sync.Mutex // guards what follows
	behind uint64
	known  map[string]*covered
}

func newCoverage(log Log) *coverage {
	c := &coverage{log: log, known: make(map[string]*covered)}
	c.run = c.read
	return c
}

func (c *coverage) read(ctx context.Context) error {
	c.mu.Lock()
	behind := c.behind
	c.mu.Unlock()
	behind, err := c.log.ReadCoverage(ctx, behind, c.take)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = max(c.behind, behind)
	return err
}

func (c *coverage) take(account string, window []byte) error {
	var w poller.Coverage
	if err := json.Unmarshal(window, &w); err != nil {
		return fmt.Errorf("a closed window: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.known[account]
	if a == nil {
		a = &covered{}
		c.known[account] = a
	}
	a.add(span{w.From, w.To})
	a.windows++
	if w.ClosedAt.After(a.newest) {
		a.newest = w.ClosedAt
	}
	if w.Unstable {
		a.doubts++
	}
	return nil
}

// look returns what is known, by account; whole is false while the first reading
// goes on.
func (c *coverage) look(ctx context.Context) (all map[string]covered, whole bool, err error) {
	whole, err = c.refresh(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	all = make(map[string]covered, len(c.known))
	for name, a := range maps.All(c.known) {
		all[name] = covered{slices.Clone(a.spans), a.windows, a.newest, a.doubts}
	}
	return all, whole, err
}
