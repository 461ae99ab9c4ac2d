package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// Load asks the server for an order's last event: the stream first, then the
// bucket, for an order whose events have aged out of the stream. It brings the
// index up to date.
func (l *Log) Load(ctx context.Context, key schema.OrderKey) (pipeline.State, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	msg, err := l.stream.GetLastMsgForSubject(ctx, key.Subjects())
	if err == nil {
		return l.stateOf(key, msg, msg.Sequence)
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return pipeline.State{}, fmt.Errorf("load order %s: %w", key, err)
	}
	msg, err = l.state.GetLastMsgForSubject(ctx, statePrefix+key.String())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return pipeline.State{}, nil
	}
	if err != nil {
		return pipeline.State{}, fmt.Errorf("load order %s: %w", key, err)
	}
	return l.stateOf(key, msg, 0)
}

func (l *Log) stateOf(key schema.OrderKey, msg *jetstream.RawStreamMsg, seq uint64) (pipeline.State, error) {
	e, err := schema.ParseEvent(msg.Data)
	if err != nil {
		return pipeline.State{}, fmt.Errorf("last event of order %s (sequence %d): %w", key, msg.Sequence, err)
	}
	known := pipeline.Known{Sequence: seq, Version: e.Data.Version}
	if old, ok := l.index.get(hashKey(key.String())); ok && old.Version == known.Version {
		known.Content = old.Content
	}
	l.index.set(hashKey(key.String()), known)
	return pipeline.State{Event: &e, Sequence: seq}, nil
}
