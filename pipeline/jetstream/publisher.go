package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// ErrClosed says that the publisher or subscriber was closed.
var ErrClosed = pipeline.ErrClosed

// batchesAtOnce bounds the batches that one connection has under way; the
// server takes 50 of all its clients for a stream.
const batchesAtOnce = 4

// Publisher is Watermill's message.Publisher on the log. It is safe for
// concurrent use; see the package documentation for what it guarantees.
type Publisher struct {
	log    *Log
	closed atomic.Bool
}

var _ message.Publisher = (*Publisher)(nil)

// Publisher returns a publisher on the log's connection.
func (l *Log) Publisher() *Publisher { return &Publisher{log: l} }

// Publish stores the messages in atomic batches of at most [MaxBatch]. A
// message with the metadata of [pipeline.NewMessage] goes to its own subject
// under the condition that it carries; any other goes to the topic as its
// subject, without one.
//
// Messages of one order are stored in the order given, as are all messages
// without an order. Batches that have no order in common go side by side, so
// messages of different orders may be stored in any order. A message alone in
// its batch goes out plainly.
//
// When Publish returns nil, all messages are on disk. Its errors wrap
// [*pipeline.StaleError], [pipeline.ErrStored] (nothing else was wrong),
// [pipeline.ErrNoQuorum], [*pipeline.TooLargeError] or [pipeline.ErrClosed].
// Batches before and beside the one that failed may have been stored. After
// any other error the outcome is unknown, and the same call may be made again.
func (p *Publisher) Publish(topic string, msgs ...*message.Message) error {
	if p.closed.Load() {
		return ErrClosed
	}
	all := make([]outgoing, len(msgs))
	limit := p.log.maxMessage()
	for i, m := range msgs {
		all[i] = wire(topic, m)
		if size := all[i].size(); size > limit {
			return &pipeline.TooLargeError{Message: m.UUID, Size: size, Limit: limit}
		}
	}
	var known []error
	for _, round := range rounds(all) {
		again, err := p.log.publishRound(round)
		if err != nil {
			return err
		}
		known = append(known, again...)
	}
	return errors.Join(known...)
}

// Close refuses further messages. The connection belongs to the log.
func (p *Publisher) Close() error {
	p.closed.Store(true)
	return nil
}

// outgoing is a message on its way.
type outgoing struct {
	msg      *message.Message
	wire     *nats.Msg
	key      string // of its order, "" for a message without one
	expected string // sequence of the order's last event, as text
}

// wire gives a message the form of watermill-nats' NATSMarshaler, with our
// metadata turned into the server's own headers.
func wire(topic string, m *message.Message) outgoing {
	subject, filter, expected := m.Metadata[pipeline.MetaSubject], m.Metadata[pipeline.MetaFilter], m.Metadata[pipeline.MetaExpected]
	if subject == "" {
		subject = topic
	}
	const most = 7 // headers of our own, those of the batch among them
	h := make(nats.Header, len(m.Metadata)+most)
	values := make([]string, 0, len(m.Metadata)+most) // one allocation for all values
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	for name, value := range m.Metadata {
		switch name {
		case pipeline.MetaSubject, pipeline.MetaFilter, pipeline.MetaExpected:
		default:
			set(name, value)
		}
	}
	set(wmnats.WatermillUUIDHdr, m.UUID)
	set(jetstream.MsgIDHeader, messageID(subject, m))
	out := outgoing{msg: m, wire: &nats.Msg{Subject: subject, Header: h, Data: m.Payload}}
	if expected != "" {
		out.key, out.expected = keyOfFilter(filter), expected
		set(jetstream.ExpectedLastSubjSeqHeader, expected)
		set(jetstream.ExpectedLastSubjSeqSubjHeader, filter)
	}
	return out
}

// messageID is by what the server knows a message that it has. The id of an
// event is its own; of other messages, the same may go to several topics.
func messageID(subject string, m *message.Message) string {
	if m.Metadata[pipeline.MetaSubject] != "" {
		return m.UUID
	}
	return m.UUID + " " + subject
}

// batchHeaders is what [publishBatch] still adds to a message, in bytes.
const batchHeaders = 100

func (o *outgoing) size() int { return o.wire.Size() + batchHeaders }

// maxMessage is the size of the largest message that server and stream take,
// headers included.
func (l *Log) maxMessage() int {
	limit := int(l.nc.MaxPayload())
	if own := int(l.stream.CachedInfo().Config.MaxMsgSize); own > 0 {
		limit = min(limit, own)
	}
	return limit
}

// rounds cuts messages into batches. The batches of a round have no order in
// common, and an order's next message is in the next round, because the server
// takes only one of an order in a batch. Messages without an order follow each
// other in one chain of batches.
func rounds(all []outgoing) [][][]outgoing {
	var plan [][][]outgoing
	add := func(round int, o outgoing) {
		if round == len(plan) {
			plan = append(plan, nil)
		}
		batches := plan[round]
		if n := len(batches); n == 0 || len(batches[n-1]) == MaxBatch {
			batches = append(batches, make([]outgoing, 0, min(len(all), MaxBatch)))
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], o)
		plan[round] = batches
	}
	seen := make(map[string]int, len(all))
	var plain []outgoing
	for _, o := range all {
		if o.key == "" {
			plain = append(plain, o)
			continue
		}
		add(seen[o.key], o)
		seen[o.key]++
	}
	for len(plain) > 0 {
		n := min(len(plain), MaxBatch)
		plan = append(plan, [][]outgoing{plain[:n]})
		plain = plain[n:]
	}
	return plan
}

// publishRound stores the batches of a round side by side. It returns those
// that were in the log already apart from other failures.
func (l *Log) publishRound(round [][]outgoing) (known []error, err error) {
	if len(round) == 1 {
		return sortOut(l.publish(round[0]))
	}
	failures := make([]error, len(round))
	var group sync.WaitGroup
	for i, batch := range round {
		group.Go(func() { failures[i] = l.publish(batch) })
	}
	group.Wait()
	return sortOut(failures...)
}

func sortOut(failures ...error) (known []error, err error) {
	var others []error
	for _, f := range failures {
		if errors.Is(f, pipeline.ErrStored) {
			known = append(known, f)
		} else if f != nil {
			others = append(others, f)
		}
	}
	return known, errors.Join(others...)
}

// learn keeps the index current from the publisher's own acknowledgement.
func (l *Log) learn(o *outgoing, seq uint64) {
	if o.key != "" {
		l.index.learn(o.key, seq, o.wire.Header)
	}
}

// orderKey returns the order of a message that has one.
func (o *outgoing) orderKey() (schema.OrderKey, error) {
	key, _, err := schema.ParseSubject(o.wire.Subject)
	if err != nil {
		return schema.OrderKey{}, fmt.Errorf("message %s: %w", o.msg.UUID, err)
	}
	return key, nil
}

// contextOf returns the context that bounds a batch: that of its first message.
func contextOf(batch []outgoing) context.Context { return batch[0].msg.Context() }
