package postback

import (
	"context"
	"sync"
)

// hints are the orders of an account that are to be fetched, each once.
type hints struct {
	most int

	mu      sync.Mutex
	waiting []Order        // in the order of their coming
	state   map[Order]care // of those that wait or are fetched
	more    chan struct{}  // holds a token while something waits
}

// care is how far an order is.
type care int

const (
	waits       care = iota + 1
	fetched          // is being fetched
	fetchedOnce      // is being fetched, and was pushed again meanwhile
)

func newHints(most int) *hints {
	return &hints{most: most, state: make(map[Order]care), more: make(chan struct{}, 1)}
}

// add takes an order in, and reports false when there are too many.
func (h *hints) add(o Order) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.state[o] {
	case waits, fetchedOnce:
		return true
	case fetched:
		h.state[o] = fetchedOnce
		return true
	}
	if len(h.state) >= h.most {
		return false
	}
	h.wait(o)
	return true
}

func (h *hints) wait(o Order) {
	h.state[o] = waits
	h.waiting = append(h.waiting, o)
	h.signal()
}

func (h *hints) signal() {
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// next waits for an order and hands it out to be fetched. It returns false when
// ctx ends.
func (h *hints) next(ctx context.Context) (Order, bool) {
	for ctx.Err() == nil {
		if o, ok := h.take(); ok {
			return o, true
		}
		select {
		case <-h.more:
		case <-ctx.Done():
		}
	}
	return Order{}, false
}

func (h *hints) take() (Order, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return Order{}, false
	}
	o := h.waiting[0]
	h.waiting = h.waiting[1:]
	h.state[o] = fetched
	if len(h.waiting) > 0 {
		h.signal() // there is work for another one
	}
	return o, true
}

// done ends a fetch. An order that was pushed meanwhile waits again.
func (h *hints) done(o Order) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state[o] == fetchedOnce {
		h.wait(o)
		return
	}
	delete(h.state, o)
}
