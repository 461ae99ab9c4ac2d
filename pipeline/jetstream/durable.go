package jetstream

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// durable is a subscription to a durable consumer, over all its sessions. Its
// fields belong to the goroutine of run, but for the floor.
type durable struct {
	log    *Log
	cfg    SubscriberConfig
	filter string
	name   string // of the consumer
	cons   jetstream.Consumer
	out    chan *message.Message
	last   jetstream.Msg // ack-all: the newest that was acknowledged
	pinned bool          // the consumer was last seen pinned to this reader

	// floor is a stream sequence up to which everything is settled, by whoever
	// reads: if the consumer is deleted, it begins again behind it.
	floor atomic.Uint64
}

func newDurable(ctx context.Context, l *Log, cfg SubscriberConfig, filter string) (*durable, error) {
	name, err := consumerName(cfg.Durable, filter)
	if err != nil {
		return nil, err
	}
	if cfg.Takeover < minTakeover {
		return nil, errTakeover
	}
	if cfg.ordered() {
		if err := canReset(l.nc.ConnectedServerVersion()); err != nil {
			return nil, err
		}
	}
	r := &durable{log: l, cfg: cfg, filter: filter, name: name, out: make(chan *message.Message, cfg.Window)}
	r.floor.Store(cfg.After)
	return r, r.attach(ctx)
}

// run keeps the subscription alive until it is to end.
func (r *durable) run(ctx context.Context) {
	defer close(r.out)
	defer r.depart(ctx)
	reconnected := r.log.nc.StatusChanged(nats.CONNECTED)
	defer r.log.nc.RemoveStatusListener(reconnected)
	retry := newPause(consumerPause)
	for {
		worked, err := r.attend(ctx, reconnected)
		if ctx.Err() != nil || r.log.nc.IsClosed() {
			return
		}
		r.log.cfg.Logger.Warn("subscription interrupted, going on", "consumer", r.name, "error", err)
		if worked {
			retry.Reset()
			continue
		}
		if !waitFor(ctx, retry.NextBackOff()) {
			return
		}
	}
}

// attend runs one session, from finding the consumer to its end. worked is
// false when it did not get as far as the first message.
func (r *durable) attend(ctx context.Context, reconnected <-chan nats.Status) (worked bool, err error) {
	r.pinned = false
	if err := r.attach(ctx); err != nil {
		return false, err
	}
	if r.cfg.Pinned {
		if err := r.awaitPin(ctx); err != nil {
			return false, err
		}
		r.pinned = true
	}
	next, err := r.setBack(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := r.begin(ctx, next)
	if err != nil {
		return false, err
	}
	err = s.run(ctx, reconnected)
	cancel()
	s.end(ctx)
	return s.win.moved(next), err
}

// setBack prepares an ordered session: what the consumer delivered and nobody
// acknowledged comes again first. It returns the consumer sequence to expect.
func (r *durable) setBack(ctx context.Context) (next uint64, err error) {
	if !r.cfg.ordered() {
		return 1, nil
	}
	if r.last != nil {
		// What is set back forgets the acknowledgements that arrive later.
		r.confirm(ctx, r.last)
		r.last = nil
	}
	info, err := r.cons.Info(ctx)
	if err != nil {
		return 0, err
	}
	if info.NumAckPending == 0 && !r.cfg.Pinned {
		return info.Delivered.Consumer + 1, nil
	}
	if _, err := r.log.js.ResetConsumer(ctx, StreamName, r.name); err != nil {
		return 0, err
	}
	return 1, nil
}

// confirm sends an acknowledgement once more and waits until the server has it,
// and with it all before it.
func (r *durable) confirm(ctx context.Context, m jetstream.Msg) {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	if _, err := r.log.nc.RequestWithContext(ctx, m.Reply(), []byte("+ACK")); err != nil {
		r.log.cfg.Logger.Debug("acknowledgement not confirmed", "consumer", r.name, "error", err)
	}
}

// look asks the server how far the consumer got. The error says that the
// consumer is gone.
func (r *durable) look(ctx context.Context) error {
	info, err := r.cons.Info(ctx)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	if err == nil {
		r.raiseFloor(info.AckFloor.Stream)
	}
	return nil
}

func (r *durable) raiseFloor(seq uint64) {
	for {
		old := r.floor.Load()
		if seq <= old || r.floor.CompareAndSwap(old, seq) {
			return
		}
	}
}

// depart ends what the server keeps for this reader: what it acknowledged is
// taken in, and another one takes its place at once.
func (r *durable) depart(ctx context.Context) {
	if !r.log.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	if err := r.log.nc.FlushWithContext(ctx); err != nil {
		r.log.cfg.Logger.Debug("acknowledgements not confirmed", "consumer", r.name, "error", err)
	}
	if r.pinned {
		if err := r.log.stream.UnpinConsumer(ctx, r.name, pinGroup); err != nil {
			r.log.cfg.Logger.Debug("not unpinned, another reader takes over later", "consumer", r.name, "error", err)
		}
	}
}
