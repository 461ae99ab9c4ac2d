package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// Load asks the stream's leader for an order's last event, and the bucket for
// that of an order whose events have aged out of the stream. It brings the index
// up to date. The error wraps [pipeline.ErrPoison] when the last message of the
// order is no event.
func (l *Log) Load(ctx context.Context, key schema.OrderKey) (pipeline.State, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	state, err := l.load(ctx, key)
	if err != nil {
		return pipeline.State{}, fmt.Errorf("load order %s: %w", key, err)
	}
	return state, nil
}

// Recall returns the event that the index has as an order's last, by its
// sequence, from any replica. That is cheaper than [Log.Load], which it falls
// back to, and as outdated as the index may be: publishing then says so.
func (l *Log) Recall(ctx context.Context, key schema.OrderKey) (pipeline.State, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	text := key.String()
	known, ok := l.index.get(hashKey(text))
	if !ok || known.Sequence == 0 {
		return l.Load(ctx, key)
	}
	attempt, cancelAttempt := context.WithTimeout(ctx, attemptLimit)
	defer cancelAttempt()
	msg, err := l.stream.GetMsg(attempt, known.Sequence)
	if err == nil {
		if subject, ok := keyOfSubject(msg.Subject); ok && subject == text {
			return l.stateOf(text, msg.Data, msg.Sequence, msg.Sequence)
		}
	}
	return l.Load(ctx, key) // aged out, not at this replica, no answer from it, or of another order
}

func (l *Log) load(ctx context.Context, key schema.OrderKey) (pipeline.State, error) {
	last, err := l.last(ctx, key.Subjects())
	if err != nil {
		return pipeline.State{}, err
	}
	if last != nil {
		return l.stateOf(key.String(), last.Data, last.Sequence, last.Sequence)
	}
	return l.bucketState(ctx, key.String())
}

// bucketState returns the state of an order that the stream holds nothing of.
func (l *Log) bucketState(ctx context.Context, key string) (pipeline.State, error) {
	msg, err := l.state.GetLastMsgForSubject(ctx, statePrefix+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return pipeline.State{}, nil
	}
	if err != nil {
		return pipeline.State{}, err
	}
	return l.stateOf(key, msg.Data, 0, msg.Sequence)
}

// stateOf reads an order's last event. seq is its place in the stream, 0 when
// it aged out; from is the message's own sequence, for the error.
func (l *Log) stateOf(key string, data []byte, seq, from uint64) (pipeline.State, error) {
	e, err := schema.ParseEvent(data)
	if err != nil {
		return pipeline.State{}, fmt.Errorf("%w: message %d: %w", pipeline.ErrPoison, from, err)
	}
	l.index.update(hashKey(key), func(old pipeline.Known) pipeline.Known {
		if e.Data.Version < old.Version {
			return old
		}
		k := pipeline.Known{Sequence: seq, Version: e.Data.Version}
		if old.Version == k.Version {
			k.Content = old.Content
		}
		return k
	})
	return pipeline.State{Event: &e, Sequence: seq}, nil
}

// apiGetMessage is the subject at which a stream's leader gives out messages;
// a direct get may be answered by a replica that is behind.
const apiGetMessage = "$JS.API.STREAM.MSG.GET." + StreamName

// codeNoMessage is the server's answer when nothing matches.
const codeNoMessage = 10037

// stored is a message as the stream's leader gives it out.
type stored struct {
	Subject  string    `json:"subject"`
	Sequence uint64    `json:"seq"`
	Header   []byte    `json:"hdrs"` // as it goes over the wire
	Data     []byte    `json:"data"`
	Time     time.Time `json:"time"`
}

// attemptLimit bounds one of several attempts at a read: a server that hangs
// does not answer, and another may be the leader soon.
const attemptLimit = 2 * time.Second

// last asks the stream's leader for the last message of a subject filter, nil
// when there is none.
func (l *Log) last(ctx context.Context, filter string) (*stored, error) {
	return l.ask(ctx, map[string]any{"last_by_subj": filter})
}

// known reads what the index keeps of a message, from its headers or, when
// somebody else wrote it, from the event itself; id is its Nats-Msg-Id.
func (m *stored) known() (k pipeline.Known, id string, err error) {
	h, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		h = nats.Header{} // none
	}
	version, content, ok := stateHeaders(h)
	if !ok {
		e, err := schema.ParseEvent(m.Data)
		if err != nil {
			return k, "", fmt.Errorf("%w: message %d: %w", pipeline.ErrPoison, m.Sequence, err)
		}
		version = e.Data.Version
	}
	return pipeline.Known{Sequence: m.Sequence, Version: version, Content: content}, h.Get(jetstream.MsgIDHeader), nil
}
