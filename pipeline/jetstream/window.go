package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
)

// window holds the messages of a session that are not settled. The client's
// callback puts them in, the session takes verdicts out.
type window struct {
	out     chan *message.Message
	size    int
	ordered bool          // deliveries are without a gap
	ackAll  bool          // and ascending
	wake    chan struct{} // told when there is something to do

	mu      sync.Mutex
	list    []*delivery // in the order of their coming
	offered int         // list[:offered] was handed over
	paused  bool        // nothing is handed over for the moment
	over    bool        // nothing more is taken
	next    uint64      // if ordered: the consumer sequence to come
	newest  uint64      // if ackAll: the newest stream sequence that came
}

// put takes a message in and hands it over if the reader has room. It returns
// false for a message that is none of the session's any more, and an error when
// the session has missed one before it.
func (w *window) put(d *delivery) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false, nil
	}
	if w.ordered && d.consumer != w.next {
		w.over = true
		return false, fmt.Errorf("%w: delivery %d came where %d was to come", errGap, d.consumer, w.next)
	}
	w.next++
	if d.count > 1 && w.renew(d) || w.ackAll && d.sequence <= w.newest {
		return true, nil
	}
	w.newest = d.sequence
	w.list = append(w.list, d)
	w.offer()
	if len(w.list) == 1 {
		w.rouse()
	}
	return true, nil
}

// renew notes that a message which is being worked on came once more, so that
// the acknowledgement goes to the newer delivery.
func (w *window) renew(d *delivery) bool {
	i := slices.IndexFunc(w.list, func(old *delivery) bool { return old.sequence == d.sequence })
	if i < 0 {
		return false
	}
	w.list[i].raw = d.raw
	return true
}

// offer hands over what the reader has room for. mu is held.
func (w *window) offer() {
	for !w.paused && w.offered < len(w.list) {
		if d := w.list[w.offered]; d.grave == alive {
			select {
			case w.out <- d.msg:
			default:
				return
			}
		}
		w.offered++
	}
}

func (w *window) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sweep takes the settled messages out, each by itself.
func (w *window) sweep() (done, refused []*delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offer()
	kept := 0
	for _, d := range w.list[:w.offered] {
		v := open
		if d.grave == alive {
			v = d.verdict()
		}
		switch {
		case v == acked, d.grave == buried:
			done = append(done, d)
		case v == nacked:
			refused = append(refused, d)
		default:
			w.list[kept] = d
			kept++
		}
	}
	w.list = slices.Delete(w.list, kept, w.offered)
	w.offered = kept
	return done, refused
}

// sweepAll takes out everything up to the newest acknowledged message that has
// no nacked one before it, and returns the first nacked one, which stays.
func (w *window) sweepAll() (done []*delivery, refused *delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offer()
	n := 0
	for i, d := range w.list[:w.offered] {
		if d.grave == dying {
			break
		}
		if d.grave == buried {
			if n == i {
				n++
			}
			continue
		}
		v := d.verdict()
		if v == nacked {
			refused = d
			break
		}
		if v == acked {
			n = i + 1
		}
	}
	done = slices.Clone(w.list[:n])
	w.list = slices.Delete(w.list, 0, n)
	w.offered -= n
	return done, refused
}

// rewind takes back everything from a nacked message on. Nothing is handed over
// until resume is called; then all of it comes again, in order.
func (w *window) rewind(ctx context.Context, from *delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = true
	w.recall()
	at := slices.Index(w.list, from)
	for i, d := range w.list[at:w.offered] {
		if d.grave != alive {
			continue
		}
		next := d.again(ctx)
		next.count++
		next.msg.Metadata[pipeline.MetaDelivery] = strconv.Itoa(next.count)
		w.list[at+i] = next
	}
	w.offered = at
}

// recall takes back what the reader has not taken yet.
func (w *window) recall() {
	for {
		select {
		case <-w.out:
		default:
			return
		}
	}
}

func (w *window) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = false
	w.offer()
}

// watch returns the channels of a message whose settlement is worth looking at
// the window for: one some way behind the oldest, so that many are settled at
// once. There is none while fewer are under way. busy is false when the window is
// empty.
func (w *window) watch() (ack, nack <-chan struct{}, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		return nil, nil, false
	}
	at := w.size / 4
	if w.offered <= at {
		return nil, nil, true
	}
	d := w.list[at]
	blocked := w.ackAll && slices.ContainsFunc(w.list[:at], (*delivery).isDying)
	if d.grave == alive && !blocked {
		return d.msg.Acked(), d.msg.Nacked(), true
	}
	return nil, nil, true
}

// bury notes that a message is in the dead letters.
func (w *window) bury(d *delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.grave = buried
	w.rouse()
}

// keep leaves a refused message in the window, as on its way into the dead letters.
func (w *window) keep(d *delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.grave = dying
	if !slices.Contains(w.list, d) {
		w.list = slices.Insert(w.list, 0, d)
		w.offered++
	}
}

// unsettled returns the messages in the window.
func (w *window) unsettled() []jetstream.Msg {
	w.mu.Lock()
	defer w.mu.Unlock()
	msgs := make([]jetstream.Msg, len(w.list))
	for i, d := range w.list {
		msgs[i] = d.raw
	}
	return msgs
}

// moved reports whether anything came since the window expected that delivery.
func (w *window) moved(first uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next > first
}

// close empties the window and returns what was in it. Nothing more is taken.
func (w *window) close() []*delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.recall()
	rest := w.list
	w.list, w.offered = nil, 0
	for _, d := range rest {
		d.end()
	}
	return rest
}
