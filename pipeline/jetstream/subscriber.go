package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// SubscriberConfig chooses how the log is read. The package documentation says
// which choice keeps which order.
type SubscriberConfig struct {
	// Durable names a consumer whose cursor the server keeps. Subscriptions to the
	// whole log share the consumer of that name; those to another topic share one
	// named "<durable>@<topic>", the topic made a token by [schema.EscapeToken].
	// Empty means reading from a position: in stream order, nothing to
	// acknowledge, Ack and Nack have no effect.
	Durable string
	// AckAll makes the acknowledgement of a message acknowledge all before it, by
	// one message to the server for many. Everything from a nacked message on
	// comes again, in order. It is for a reader that handles one message after
	// another: where handlers run side by side, as under Watermill's Router, one
	// that is done would acknowledge others that are not. One subscription at a
	// time may use the durable, unless Pinned is set too. Needs nats-server 2.14.
	AckAll bool
	// Pinned lets several processes subscribe to the durable of which one at a
	// time gets messages. When it is gone, another begins with the oldest that is
	// not acknowledged, in order. Needs nats-server 2.14.
	Pinned bool
	// Takeover is how long a pinned reader may be silent before another takes its
	// place; at least 3 s, 0 means 6 s.
	Takeover time.Duration
	// After is the sequence behind which to begin; 0 means the oldest message.
	// A durable consumer that exists goes on where it was.
	After uint64
	// Window is the number of messages that may be under way at the same time;
	// 0 means 256. With 1, the next message of a durable comes only when the
	// one before is acknowledged.
	Window int
	// AckWait is how long the server waits for the acknowledgement of a message
	// of a durable consumer, unless told that work goes on, which the Subscriber
	// does; 0 means 30 s.
	AckWait time.Duration
	// NackDelay is the pause before a message comes again after Nack; 0 means 1 s.
	NackDelay time.Duration
	// MaxDeliver is the number of deliveries after which a Nack of a durable's
	// reader is final: the message goes into the dead letters and comes no more.
	// 0 means never. With AckAll only the nacks of this subscription count.
	MaxDeliver int
}

// Errors of a configuration.
var (
	errNoDurable = errors.New("acknowledging all and pinning need the name of a durable consumer")
	errTakeover  = fmt.Errorf("the time to take over is less than %v", minTakeover)
	errReserved  = errors.New("the name of a durable consumer may not hold @")
)

// minTakeover leaves room for two requests to the server, of which the client
// makes at most one a second.
const minTakeover = 3 * time.Second

func (c SubscriberConfig) withDefaults() SubscriberConfig {
	if c.Window == 0 {
		c.Window = 256
	}
	if c.AckWait == 0 {
		c.AckWait = 30 * time.Second
	}
	if c.NackDelay == 0 {
		c.NackDelay = time.Second
	}
	if c.Takeover == 0 {
		c.Takeover = 2 * minTakeover
	}
	return c
}

// ordered reports whether messages keep their order over Nack or a new start,
// for which the consumer is set back to what is acknowledged.
func (c SubscriberConfig) ordered() bool { return c.AckAll || c.Pinned }

// Subscriber is Watermill's message.Subscriber on the log. Unlike the stock
// one it holds a window of messages at a time, so that a reader can batch.
// It is safe for concurrent use.
type Subscriber struct {
	log *Log
	cfg SubscriberConfig

	mu     sync.Mutex
	closed bool
	ends   []context.CancelFunc
	active sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// Subscriber returns a subscriber on the log's connection.
func (l *Log) Subscriber(cfg SubscriberConfig) *Subscriber {
	return &Subscriber{log: l, cfg: cfg.withDefaults()}
}

// Subscribe reads the messages of a topic: "orders" is the whole log, any
// other topic is a subject filter such as "orders.main.>". The channel closes
// when ctx ends or Close is called, or when the connection is closed for good.
// A connection that breaks is waited for, and a consumer that somebody deleted
// on the server is made again.
//
// A message's context ends when the message is settled or no longer the
// reader's: at the end of the subscription, what is not settled is given back
// and comes again. Acknowledgements go out without waiting for the server. One
// that is lost with a connection or a process lets its message come again.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if topic == pipeline.Topic {
		topic += ".>"
	}
	parent := ctx
	if err := parent.Err(); err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", topic, err)
	}
	ctx, cancel := undated(parent)
	out, run, err := s.reading(ctx, topic)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("subscribe to %s: %w", topic, cmp.Or(parent.Err(), err))
	}
	s.ends = append(s.ends, cancel)
	s.active.Go(func() {
		defer cancel()
		run(ctx)
	})
	return out, nil
}

// undated returns a context that ends when parent does, and has no deadline: a request
// that has one waits for a lost answer until then, and not for [Config].Timeout.
func undated(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	unlink := context.AfterFunc(parent, cancel)
	return ctx, func() {
		unlink()
		cancel()
	}
}

// reading returns a subscription that is ready to run.
func (s *Subscriber) reading(ctx context.Context, filter string) (<-chan *message.Message, func(context.Context), error) {
	if s.cfg.Durable != "" {
		r, err := newDurable(ctx, s.log, s.cfg, filter)
		if err != nil {
			return nil, nil, err
		}
		return r.out, r.run, nil
	}
	if s.cfg.ordered() {
		return nil, nil, errNoDurable
	}
	r := &position{log: s.log, filter: filter, window: s.cfg.Window, after: s.cfg.After, out: make(chan *message.Message, s.cfg.Window)}
	cc, err := r.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	return r.out, func(ctx context.Context) { r.run(ctx, cc) }, nil
}

// Close ends all subscriptions and waits until their channels are closed.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, end := range s.ends {
		end()
	}
	s.ends = nil
	s.mu.Unlock()
	s.active.Wait()
	return nil
}

// Follow reads the whole log behind a position; it is what the sink runner
// wants of a log (see package pipeline).
func (l *Log) Follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	return l.Subscriber(SubscriberConfig{After: after, Window: 2048}).Subscribe(ctx, schema.SubjectRoot)
}
