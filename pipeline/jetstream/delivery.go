package jetstream

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"
)

// delivery is a message of a durable consumer that is not settled yet.
type delivery struct {
	handling
	place
	msg   *message.Message
	raw   jetstream.Msg
	nacks int   // in this session
	grave grave // where it stands on its way into the dead letters
}

// grave says where a message stands on its way into the dead letters.
type grave int

const (
	alive  grave = iota
	dying        // it is being written there
	buried       // it is there
)

// verdict is what a reader said of a message.
type verdict int

const (
	open verdict = iota
	acked
	nacked
)

func (d *delivery) verdict() verdict {
	select {
	case <-d.msg.Acked():
		return acked
	default:
	}
	select {
	case <-d.msg.Nacked():
		return nacked
	default:
		return open
	}
}

func (d *delivery) isDying() bool { return d.grave == dying }

// again returns the same message for the reader to have once more.
func (d *delivery) again(ctx context.Context) *delivery {
	d.end()
	next := &delivery{place: d.place, raw: d.raw, nacks: d.nacks, msg: d.msg.Copy()}
	next.take(ctx)
	return next
}

// take makes the delivery the context of its message.
func (d *delivery) take(ctx context.Context) {
	d.Context = ctx
	d.msg.SetContext(d) //nolint:contextcheck // d inherits from ctx
}

// handling is a message's context. It ends with the subscription's or when the
// message is settled. Few readers look at it, so what it takes to tell them is
// made when they ask.
type handling struct {
	context.Context

	mu      sync.Mutex
	done    chan struct{}
	ended   bool
	release func() bool // from the parent
}

// Done is that of a [context.Context].
func (h *handling) Done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done == nil {
		h.done = make(chan struct{})
		if h.ended {
			close(h.done)
		} else {
			h.release = context.AfterFunc(h.Context, h.end)
		}
	}
	return h.done
}

// Err is that of a [context.Context].
func (h *handling) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return context.Canceled
	case h.done == nil:
		return h.Context.Err()
	default:
		return nil
	}
}

func (h *handling) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	if h.done != nil {
		close(h.done)
		h.release()
	}
}
