package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
)

// ErrClosed says that the publisher or subscriber was closed.
var ErrClosed = errors.New("closed")

// Publisher is Watermill's message.Publisher on the log. It is safe for
// concurrent use; see the package documentation for what it guarantees.
type Publisher struct {
	log       *Log
	marshaler wmnats.NATSMarshaler
	closed    atomic.Bool
}

var _ message.Publisher = (*Publisher)(nil)

// Publisher returns a publisher on the log's connection.
func (l *Log) Publisher() *Publisher { return &Publisher{log: l} }

// Publish stores the messages in the order given, in atomic batches of at most
// [MaxBatch]; an order stands at most once in a batch, so a second message of
// the same order begins the next one. A message with the metadata of
// [pipeline.NewMessage] goes to its own subject under the condition that it
// carries; any other goes to the topic as its subject.
//
// When it returns nil, all messages are on disk. A [*pipeline.StaleError] says
// that nothing of the refused batch was stored, though batches before it were.
// After any other error the outcome of the last batch is unknown, and the same
// call may be made again: what is there already is refused as stale.
func (p *Publisher) Publish(topic string, msgs ...*message.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	if p.closed.Load() {
		return ErrClosed
	}
	out := make([]*nats.Msg, len(msgs))
	for i, m := range msgs {
		n, err := p.wire(topic, m)
		if err != nil {
			return err
		}
		out[i] = n
	}
	for start := 0; start < len(msgs); {
		end := batchEnd(msgs, start)
		if err := p.batch(msgs[start:end], out[start:end]); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// Close refuses further messages. The connection belongs to the log.
func (p *Publisher) Close() error {
	p.closed.Store(true)
	return nil
}

// batchEnd returns the end of the longest batch from start.
func batchEnd(msgs []*message.Message, start int) int {
	seen := make(map[string]bool, min(len(msgs)-start, MaxBatch))
	for i, m := range msgs[start:] {
		key := m.Metadata.Get(pipeline.MetaFilter)
		if i == MaxBatch || key != "" && seen[key] {
			return start + i
		}
		seen[key] = true
	}
	return len(msgs)
}

// wire gives a message the form of watermill-nats' NATSMarshaler, with our
// metadata turned into the server's own headers.
func (p *Publisher) wire(topic string, m *message.Message) (*nats.Msg, error) {
	subject := m.Metadata.Get(pipeline.MetaSubject)
	if subject == "" {
		subject = topic
	}
	n, err := p.marshaler.Marshal(subject, m)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", m.UUID, err)
	}
	if expected := m.Metadata.Get(pipeline.MetaExpected); expected != "" {
		n.Header.Set(jetstream.ExpectedLastSubjSeqHeader, expected)
		n.Header.Set(jetstream.ExpectedLastSubjSeqSubjHeader, m.Metadata.Get(pipeline.MetaFilter))
	}
	n.Header.Set(jetstream.MsgIDHeader, m.UUID)
	n.Header.Del(pipeline.MetaSubject)
	n.Header.Del(pipeline.MetaFilter)
	n.Header.Del(pipeline.MetaExpected)
	return n, nil
}

func (p *Publisher) batch(msgs []*message.Message, out []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(msgs[0].Context(), p.log.cfg.Timeout)
	defer cancel()
	first, err := publishBatch(ctx, p.log.nc, out)
	if outdated(err) {
		return &pipeline.StaleError{Orders: len(msgs), Cause: err}
	}
	if err != nil {
		return fmt.Errorf("batch of %d messages: %w", len(msgs), err)
	}
	for i, m := range msgs {
		p.learn(m, first+uint64(i))
	}
	return nil
}

// learn keeps the index current from the publisher's own acknowledgement.
func (p *Publisher) learn(m *message.Message, seq uint64) {
	filter := m.Metadata.Get(pipeline.MetaFilter)
	if filter == "" {
		return
	}
	version, errVersion := strconv.ParseUint(m.Metadata.Get(pipeline.MetaVersion), 10, 64)
	content, errContent := strconv.ParseUint(m.Metadata.Get(pipeline.MetaContent), 16, 64)
	if errVersion != nil || errContent != nil {
		return
	}
	p.log.index.set(hashKey(keyOfFilter(filter)), pipeline.Known{Sequence: seq, Version: version, Content: content})
}
