package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// DeadLetters gives what a sink or an endpoint has given up, in the order of its
// burial, up to the newest at the time of the call. An event may come more than
// once. The first error ends it.
func (l *Log) DeadLetters(ctx context.Context, sink string) iter.Seq2[pipeline.Buried, error] {
	return func(yield func(pipeline.Buried, error) bool) {
		more := true
		err := l.deadLetters(ctx, sink, func(d pipeline.Buried) bool {
			more = yield(d, nil)
			return more
		})
		if err != nil && more {
			yield(pipeline.Buried{}, fmt.Errorf("dead letters of %s: %w", sink, err))
		}
	}
}

func (l *Log) deadLetters(parent context.Context, sink string, take func(pipeline.Buried) bool) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	stream, err := l.js.Stream(ctx, DeadStreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	cons, err := l.js.OrderedConsumer(ctx, DeadStreamName, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{deadSubjects + "." + schema.EscapeToken(sink)}, DeliverPolicy: jetstream.DeliverAllPolicy,
	})
	if err != nil {
		return err
	}
	defer discard(parent, stream, cons)
	if cons.CachedInfo().NumPending == 0 {
		return nil
	}
	messages, err := cons.Messages(jetstream.PullMaxMessages(deadAhead))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		next, cancelNext := context.WithTimeout(ctx, l.cfg.Timeout)
		m, err := messages.Next(jetstream.NextContext(next))
		cancelNext()
		if err != nil {
			return errors.Join(parent.Err(), err)
		}
		at, err := m.Metadata()
		if err != nil {
			return err
		}
		if !take(letterOf(at.Sequence.Stream, at.Timestamp, m.Headers(), m.Data())) || at.NumPending == 0 {
			return nil
		}
	}
}

// deadAhead is how many dead letters are asked for at a time.
const deadAhead = 64

// DeadLetter returns one by its place; false when it is there no more.
func (l *Log) DeadLetter(ctx context.Context, place uint64) (pipeline.Buried, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, DeadStreamName)
	if err != nil {
		return pipeline.Buried{}, false, fmt.Errorf("dead letter %d: %w", place, err)
	}
	return letterAt(ctx, stream, place)
}

func letterAt(ctx context.Context, stream jetstream.Stream, place uint64) (pipeline.Buried, bool, error) {
	m, err := stream.GetMsg(ctx, place)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return pipeline.Buried{}, false, nil
	}
	if err != nil {
		return pipeline.Buried{}, false, fmt.Errorf("dead letter %d: %w", place, err)
	}
	return letterOf(m.Sequence, m.Time, m.Header, m.Data), true, nil
}

// letterOf reads a dead letter. A header that is no number counts as 0.
func letterOf(place uint64, at time.Time, h nats.Header, raw []byte) pipeline.Buried {
	sequence, _ := strconv.ParseUint(h.Get(headerDeadSequence), 10, 64)
	attempts, _ := strconv.Atoi(h.Get(headerDeadAttempts))
	return pipeline.Buried{At: at.UTC(), Place: place, DeadLetter: pipeline.DeadLetter{
		Sink: h.Get(headerDeadSink), Reason: h.Get(headerDeadReason), Subject: h.Get(headerDeadSubject),
		Sequence: sequence, Attempts: attempts, Raw: raw,
	}}
}
