package pipeline

import (
	"context"
	"strings"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Parked is an order whose delivery has failed: it waits, durably, and all
// other orders pass. Its events are in the log.
type Parked struct {
	Key schema.OrderKey `json:"-"`
	// Single is the sequence of the one event that is meant, of an endpoint
	// without order; 0: First and all that follow it.
	Single   uint64    `json:"single,omitzero"`
	First    uint64    `json:"first"`             // no event of the order before this sequence is owed
	Version  uint64    `json:"version,omitzero"`  // of the first one that is owed
	Attempts int       `json:"attempts,omitzero"` // made for that one
	Next     time.Time `json:"next"`              // when it is tried again
	Since    time.Time `json:"since"`             // when the order was parked
	Stored   time.Time `json:"stored"`            // when the first event owed came into the log, or earlier
	Class    string    `json:"class"`             // of the last failure, without any of the payload
	// Held says that the attempts are used up and that a person is to say what
	// follows; see [Courier.Release].
	Held bool `json:"held,omitzero"`
}

// ParkedStore keeps the parked orders of endpoints durably.
type ParkedStore interface {
	// LoadParked gives all that the endpoint has parked, in any order, and
	// everything that was saved before the call.
	LoadParked(ctx context.Context, endpoint string, take func(Parked)) error
	// SaveParked stores some and removes others, which Key and Single name. nil
	// means that all of it is durable; after an error any part may be.
	SaveParked(ctx context.Context, endpoint string, put, gone []Parked) error
}

// Recall reads the next event of an order in the log, from a sequence on; false
// when there is none. An error that wraps [ErrPoison] comes with the entry's
// sequence.
type Recall func(ctx context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error)

// laneKey is what is delivered one after another: an order, or at an endpoint
// without order one event.
type laneKey struct {
	schema.OrderKey
	single uint64
}

func (p *Parked) lane() laneKey { return laneKey{p.Key, p.Single} }

// own copies the key's texts, which may be parts of an event.
func own(k schema.OrderKey) schema.OrderKey {
	all := strings.Clone(k.Account + k.Program + k.OrderSn)
	a, p := len(k.Account), len(k.Account)+len(k.Program)
	return schema.OrderKey{Account: all[:a], Program: all[a:p], OrderSn: all[p:]}
}

// park makes an order durable that has failed; it stays a lane until that is
// done.
func (r *route) park(o *order) {
	o.state = parking
	o.Key = own(o.Key)
	o.Since = r.now
	r.change(o)
	r.parking = append(r.parking, o)
}

// change has the store learn how an order stands now.
func (r *route) change(o *order) {
	r.changes[o.lane()] = change{parked: o.Parked}
	r.touch()
}

// unpark ends the parking of an order that is owed nothing more.
func (r *route) unpark(o *order) {
	key := o.lane()
	r.changes[key] = change{parked: Parked{Key: o.Key, Single: o.Single}, gone: true}
	if o.First > r.window.newest+1 && r.window.newest < r.horizon {
		r.ahead[key] = o.First
	}
	r.parked--
	delete(r.orders, key)
	r.touch()
}

// change is what the store does not know yet of an order.
type change struct {
	parked Parked
	gone   bool
}

// write hands all changes to the store, unless an earlier hand-over is under way.
// Many orders fail together when an endpoint goes down: they are one batch.
func (r *route) write() {
	if r.writing || len(r.changes) == 0 {
		return
	}
	put, gone := r.batch()
	r.writing = true
	go func() { r.written <- r.cfg.Parked.SaveParked(r.own, r.cfg.Name, put, gone) }()
}

// batch empties the changes.
func (r *route) batch() (put, gone []Parked) {
	for _, c := range r.changes {
		if c.gone {
			gone = append(gone, c.parked)
		} else {
			put = append(put, c.parked)
		}
	}
	clear(r.changes)
	r.inBatch, r.parking = r.parking, r.inBatch[:0]
	return put, gone
}

// stored settles the events of the orders whose parking is durable now.
func (r *route) stored(err error) error {
	r.writing = false
	if err != nil {
		return err
	}
	for _, o := range r.inBatch {
		for _, e := range o.queue[o.head:] {
			r.mark(e.Sequence)
			o.noted = max(o.noted, e.Sequence)
		}
		o.queue, o.head, o.durable = nil, 0, true
		r.parked++
		r.rest(o)
	}
	r.inBatch = r.inBatch[:0]
	return nil
}

// load takes in what is parked. What the cursor has settled of a parked order
// was noted or delivered, which of both is not known: all of it may be owed.
func (r *route) load(ctx context.Context) error {
	r.horizon = r.window.floor
	if n := len(r.window.before); n > 0 {
		r.horizon = max(r.horizon, r.window.before[n-1])
	}
	if r.cfg.Parked == nil {
		return nil
	}
	return r.cfg.Parked.LoadParked(ctx, r.cfg.Name, func(p Parked) {
		o := &order{Parked: p, durable: true, noted: max(p.First, r.horizon)}
		if p.Single != 0 {
			o.noted = p.Single
		}
		r.orders[o.lane()] = o
		r.parked++
		r.rest(o)
	})
}
