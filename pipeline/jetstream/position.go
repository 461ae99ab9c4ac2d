package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// position is a subscription that reads from a position, in stream order. Its
// fields belong to the callback of the present consume context, and to run
// between two of them.
type position struct {
	log    *Log
	filter string
	window int
	after  uint64 // sequence of the last message handed over
	out    chan *message.Message
}

// run keeps the subscription alive until it is to end.
func (r *position) run(ctx context.Context, cc *consuming) {
	defer close(r.out)
	retry := newPause(consumerPause)
	for {
		select {
		case <-ctx.Done():
		case <-cc.closed: // the consumer is gone on the server
			cc.stop()
			var err error
			if cc, err = r.restart(ctx, retry); err == nil {
				continue
			}
			return
		}
		cc.stop()
		go r.forget(ctx, cc)
		return
	}
}

// forgetLimit bounds how long the server is asked to forget a consumer.
const forgetLimit = 2 * time.Second

// forget deletes the consumer of a subscription that has ended, which the server
// would keep for five minutes, and wake for every message. Nobody waits for it: the
// client may be busy making the consumer anew.
func (r *position) forget(ctx context.Context, c *consuming) {
	info := c.cons.CachedInfo()
	if info == nil || !r.log.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	if err := r.log.js.DeleteConsumer(ctx, StreamName, info.Name); err != nil {
		r.log.cfg.Logger.Debug("consumer not deleted, the server lets go of it by itself", "consumer", info.Name, "error", err)
	}
}

// restart makes the consumer anew, from the last message handed over.
func (r *position) restart(ctx context.Context, retry backoff.BackOff) (*consuming, error) {
	for {
		cc, err := r.start(ctx)
		if err == nil {
			retry.Reset()
			return cc, nil
		}
		if r.log.nc.IsClosed() {
			return nil, err
		}
		r.log.cfg.Logger.Warn("subscription interrupted, trying again", "filter", r.filter, "error", err)
		if !waitFor(ctx, retry.NextBackOff()) {
			return nil, ctx.Err()
		}
	}
}

func (r *position) start(parent context.Context) (*consuming, error) {
	policy, start := startBehind(r.after)
	var cons jetstream.Consumer
	err := r.log.twice(parent, func(ctx context.Context) (err error) {
		cons, err = r.log.js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{r.filter}, DeliverPolicy: policy, OptStartSeq: start,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &consuming{cons: cons}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(parent)
	c.cc, err = cons.Consume(func(m jetstream.Msg) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.stopped {
			r.hand(ctx, m)
		}
	}, jetstream.PullMaxMessages(r.window), jetstream.ConsumeErrHandler(r.consumeError))
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.closed = c.cc.Closed()
	return c, nil
}

func (r *position) consumeError(_ jetstream.ConsumeContext, err error) {
	if errors.Is(err, jetstream.ErrNoHeartbeat) || errors.Is(err, nats.ErrConnectionClosed) {
		return // the client goes on by itself, or is being closed
	}
	r.log.cfg.Logger.Warn("subscription", "filter", r.filter, "error", err)
}

// hand gives one message to the reader, who may be slow: it blocks until the
// channel takes it or the subscription ends. A message that is not of
// watermill-nats' format is handed over too: what to do about its payload is the
// reader's to say, who keeps the position.
func (r *position) hand(ctx context.Context, m jetstream.Msg) {
	p, text, err := locate(m.Reply())
	if err != nil || p.sequence <= r.after {
		return
	}
	msg, err := unwrap(m, text)
	if err != nil {
		r.log.cfg.Logger.Warn("only the first value of a header is read", "subject", m.Subject(), "sequence", p.sequence, "error", err)
	}
	msg.SetContext(ctx)
	select {
	case r.out <- msg:
		r.after = p.sequence
		return
	default:
	}
	select {
	case r.out <- msg:
		r.after = p.sequence
	case <-ctx.Done():
	}
}

// consuming is a running consume context. Its callback runs under mu, because
// the client may still call it after the context says that it has closed.
type consuming struct {
	cons    jetstream.Consumer
	cc      jetstream.ConsumeContext
	closed  <-chan struct{}
	cancel  context.CancelFunc
	mu      sync.Mutex
	stopped bool
}

// stop ends it. When stop returns, nothing more is handed over.
func (c *consuming) stop() {
	c.cancel() // frees a callback that is blocked on the output channel
	c.cc.Stop()
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
}

// startBehind returns how a new consumer begins behind a sequence.
func startBehind(after uint64) (policy jetstream.DeliverPolicy, start uint64) {
	if after == 0 {
		return jetstream.DeliverAllPolicy, 0
	}
	return jetstream.DeliverByStartSequencePolicy, after + 1
}
