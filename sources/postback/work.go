package postback

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/orderwire/orderwire/sources/openapi"
)

// ErrBusy says that somebody works on the account already.
var ErrBusy = errors.New("pushes of the account are worked on already")

// Fetch brings the log up to date with one order, now.
type Fetch func(ctx context.Context, o Order) error

// inbox is an account with its hints.
type inbox struct {
	Account
	*Receiver

	mu    sync.Mutex
	hints *hints // nil while nobody works on the account
}

// Run works on an account until ctx ends: its pushes are taken, and fetch is
// called for their orders, several at once but never twice for one order. A
// fetch that fails is logged and forgotten. The error says that there is no such
// account, or is [ErrBusy].
func (r *Receiver) Run(ctx context.Context, account string, fetch Fetch) error {
	in, known := r.accounts[account]
	if !known {
		return fmt.Errorf("postback: no account %q takes pushes", account)
	}
	h := newHints(r.config.MaxWaiting)
	if !in.open(h) {
		return ErrBusy
	}
	defer in.close()
	var workers sync.WaitGroup
	for range r.config.Concurrency {
		workers.Go(func() { in.work(ctx, h, fetch) })
	}
	workers.Wait()
	return nil
}

func (in *inbox) open(h *hints) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.hints != nil {
		return false
	}
	in.hints = h
	return true
}

func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hints = nil
}

// hint takes an order, unless nobody works on the account or too many wait.
func (in *inbox) hint(o Order) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.hints != nil && in.hints.add(o)
}

func (in *inbox) work(ctx context.Context, h *hints, fetch Fetch) {
	for {
		o, ok := h.next(ctx)
		if !ok {
			return
		}
		err := fetch(ctx, o)
		h.done(o)
		if err != nil && ctx.Err() == nil {
			in.config.Logger.Warn("an order that the network has pushed was not fetched; the next poll will read it",
				"account", in.Name, "error", err, "temporary", openapi.Temporary(err))
		}
	}
}
