package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// SubscriberConfig chooses how the log is read.
type SubscriberConfig struct {
	// Durable names a consumer whose cursor the server keeps; every message is
	// acknowledged one by one. Empty means reading from a position: in stream
	// order, nothing to acknowledge, Ack and Nack have no effect.
	Durable string
	// After is the sequence behind which to begin; 0 means the oldest message.
	// A durable consumer that exists goes on where it was.
	After uint64
	// Window is the number of messages that may be under way at the same time;
	// 0 means 256.
	Window int
	// AckWait is how long the server waits for the acknowledgement of a message
	// of a durable consumer, unless told that work goes on; 0 means 30 s.
	AckWait time.Duration
	// NackDelay is the pause before a message comes again after Nack; 0 means 1 s.
	NackDelay time.Duration
}

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
	return c
}

// Subscriber is Watermill's message.Subscriber on the log. Unlike the stock
// one it holds a window of messages at a time, so that a reader can batch.
type Subscriber struct {
	log       *Log
	cfg       SubscriberConfig
	marshaler wmnats.NATSMarshaler

	mu     sync.Mutex
	closed chan struct{}
	active sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// Subscriber returns a subscriber on the log's connection.
func (l *Log) Subscriber(cfg SubscriberConfig) *Subscriber {
	return &Subscriber{log: l, cfg: cfg.withDefaults(), closed: make(chan struct{})}
}

// Subscribe reads the messages of a topic: "orders" is the whole log, any
// other topic is a subject filter such as "orders.main.>". The channel closes
// when ctx ends or Close is called. A connection that breaks is waited for.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil, ErrClosed
	default:
	}
	if topic == pipeline.Topic {
		topic += ".>"
	}
	r := &reading{sub: s, filter: topic, after: s.cfg.After, out: make(chan *message.Message, s.cfg.Window)}
	cc, err := r.start(ctx)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", topic, err)
	}
	s.active.Add(1)
	go func() {
		defer s.active.Done()
		r.run(ctx, cc)
	}()
	return r.out, nil
}

// Close ends all subscriptions and waits until their channels are closed.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	s.active.Wait()
	return nil
}

// reading is one subscription. Its fields belong to the callback of the
// present consume context, and to run between two of them.
type reading struct {
	sub    *Subscriber
	filter string
	after  uint64 // sequence of the last message handed over
	out    chan *message.Message
	acks   sync.WaitGroup
}

// run keeps the subscription alive until it is to end.
func (r *reading) run(ctx context.Context, cc *consuming) {
	defer close(r.out)
	defer r.acks.Wait()
	retry := backoff.NewExponentialBackOff()
	for {
		select {
		case <-ctx.Done():
		case <-r.sub.closed:
		case <-cc.cc.Closed(): // the consumer is gone on the server
			cc.stop()
			var err error
			if cc, err = r.restart(ctx, retry); err == nil {
				continue
			}
			return
		}
		cc.stop()
		return
	}
}

// restart makes the consumer anew, from the last message handed over.
func (r *reading) restart(ctx context.Context, pause backoff.BackOff) (*consuming, error) {
	for {
		cc, err := r.start(ctx)
		if err == nil {
			pause.Reset()
			return cc, nil
		}
		if r.sub.log.nc.IsClosed() {
			return nil, err
		}
		r.sub.log.cfg.Logger.Warn("subscription interrupted, trying again", "filter", r.filter, "error", err)
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.sub.closed:
			return nil, ErrClosed
		}
	}
}

// drainLimit bounds how long the end of a subscription waits for the client to
// give its messages back.
const drainLimit = 2 * time.Second

// consuming is a running consume context. Its callback runs under mu, because
// the client may still call it after the context says that it has closed.
type consuming struct {
	cc      jetstream.ConsumeContext
	cancel  context.CancelFunc
	mu      sync.Mutex
	stopped bool
}

// stop ends it. When stop returns, nothing more is handed over.
func (c *consuming) stop() {
	c.cancel()   // frees a callback that is blocked on the output channel
	c.cc.Drain() // what the client has fetched goes through the callback, to be given back
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	select {
	case <-c.cc.Closed():
	case <-time.After(drainLimit): // without a connection there is nobody to give it back to
	}
}

func (r *reading) start(parent context.Context) (*consuming, error) {
	cons, err := r.consumer(parent)
	if err != nil {
		return nil, err
	}
	c := &consuming{}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(parent)
	c.cc, err = cons.Consume(func(m jetstream.Msg) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stopped || !r.hand(ctx, m) {
			r.giveBack(m)
		}
	}, jetstream.PullMaxMessages(r.sub.cfg.Window), jetstream.ConsumeErrHandler(r.consumeError))
	if err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

func (r *reading) consumeError(_ jetstream.ConsumeContext, err error) {
	if errors.Is(err, jetstream.ErrNoHeartbeat) || errors.Is(err, nats.ErrConnectionClosed) {
		return // the client goes on by itself, or is being closed
	}
	r.sub.log.cfg.Logger.Warn("subscription", "filter", r.filter, "error", err)
}

func (r *reading) consumer(ctx context.Context) (jetstream.Consumer, error) {
	policy, start := jetstream.DeliverAllPolicy, uint64(0)
	if r.after > 0 {
		policy, start = jetstream.DeliverByStartSequencePolicy, r.after+1
	}
	cfg := r.sub.cfg
	if cfg.Durable == "" {
		return r.sub.log.js.OrderedConsumer(ctx, StreamName, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{r.filter}, DeliverPolicy: policy, OptStartSeq: start,
		})
	}
	cons, err := r.sub.log.js.Consumer(ctx, StreamName, cfg.Durable)
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return cons, err
	}
	return r.sub.log.js.CreateConsumer(ctx, StreamName, jetstream.ConsumerConfig{
		Durable: cfg.Durable, FilterSubject: r.filter, DeliverPolicy: policy, OptStartSeq: start,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: cfg.AckWait, MaxAckPending: cfg.Window,
	})
}

// hand gives one message to the reader, who may be slow: it blocks until the
// channel takes it or the subscription ends, and then returns false.
func (r *reading) hand(ctx context.Context, m jetstream.Msg) bool {
	msg, seq, err := r.watermill(m)
	if err != nil {
		r.sub.log.cfg.Logger.Error("message of another kind in the log, passed over", "subject", m.Subject(), "error", err)
		_ = m.Term()
		return true
	}
	msg.SetContext(ctx)
	select {
	case r.out <- msg:
		r.after = seq
	case <-ctx.Done():
		return false
	case <-r.sub.closed:
		return false
	}
	if r.sub.cfg.Durable != "" {
		r.acks.Go(func() { r.settle(ctx, msg, m) })
	}
	return true
}

// giveBack lets the server deliver a message again at once, to whoever reads
// next. Without it the server would wait for AckWait.
func (r *reading) giveBack(m jetstream.Msg) {
	if r.sub.cfg.Durable == "" {
		return
	}
	if err := m.Nak(); err != nil {
		r.sub.log.cfg.Logger.Debug("message not given back, it comes again after AckWait", "error", err)
	}
}

// settle passes the reader's verdict on to the server, and tells it meanwhile
// that work goes on. What is unsettled when the subscription ends is given back
// at once, for whoever reads next.
func (r *reading) settle(ctx context.Context, msg *message.Message, m jetstream.Msg) {
	progress := time.NewTicker(r.sub.cfg.AckWait / 3)
	defer progress.Stop()
	for {
		var err error
		select {
		case <-msg.Acked():
			err = m.Ack()
		case <-msg.Nacked():
			err = m.NakWithDelay(r.sub.cfg.NackDelay)
		case <-progress.C:
			if err = m.InProgress(); err == nil {
				continue
			}
		case <-ctx.Done():
			err = m.Nak()
		}
		if err != nil {
			r.sub.log.cfg.Logger.Warn("acknowledgement did not leave, the message will come again", "error", err)
		}
		return
	}
}

// watermill unwraps a message of the log and adds where it stands.
func (r *reading) watermill(m jetstream.Msg) (*message.Message, uint64, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, 0, err
	}
	msg, err := r.sub.marshaler.Unmarshal(&nats.Msg{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()})
	if err != nil {
		return nil, 0, err
	}
	msg.Metadata.Set(pipeline.MetaSubject, m.Subject())
	msg.Metadata.Set(pipeline.MetaSequence, strconv.FormatUint(meta.Sequence.Stream, 10))
	msg.Metadata.Set(pipeline.MetaStored, strconv.FormatInt(meta.Timestamp.UnixNano(), 10))
	msg.Metadata.Set(pipeline.MetaDelivery, strconv.FormatUint(meta.NumDelivered, 10))
	return msg, meta.Sequence.Stream, nil
}

// Follow reads the whole log behind a position; it is what the sink runner
// wants of a log (see package pipeline).
func (l *Log) Follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	return l.Subscriber(SubscriberConfig{After: after, Window: 2048}).Subscribe(ctx, schema.SubjectRoot)
}
