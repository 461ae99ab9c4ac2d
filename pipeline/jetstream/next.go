package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// Next returns the first event of an order from a sequence on, false when the
// log holds none. Any replica may answer with an event; that there is none is
// believed only to the stream's leader. When the message is no event, the entry
// has its sequence all the same, and the error wraps [pipeline.ErrPoison].
func (l *Log) Next(ctx context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	direct, cancelDirect := context.WithTimeout(ctx, attemptLimit)
	defer cancelDirect()
	msg, err := l.stream.GetMsg(direct, from, jetstream.WithGetMsgSubject(key.Subjects()))
	if err == nil {
		e, err := readEntry(msg.Sequence, msg.Time, msg.Subject, msg.Data)
		e.Trace = msg.Header.Get(pipeline.MetaTrace)
		return e, true, err
	}
	found, err := l.ask(ctx, map[string]any{"seq": from, "next_by_subj": key.Subjects()})
	if err != nil {
		return schema.Entry{}, false, fmt.Errorf("next event of order %s from %d on: %w", key, from, err)
	}
	if found == nil {
		return schema.Entry{}, false, nil
	}
	e, err := readEntry(found.Sequence, found.Time, found.Subject, found.Data)
	return e, true, err
}

func readEntry(seq uint64, stored time.Time, subject string, data []byte) (e schema.Entry, err error) {
	e = schema.Entry{Sequence: seq, Stored: stored.UTC(), Subject: subject, Raw: data}
	if e.Event, err = schema.ParseEvent(data); err != nil {
		return e, fmt.Errorf("%w: %w", pipeline.ErrPoison, err)
	}
	return e, nil
}

// ask asks the stream's leader for a message, nil when there is none.
func (l *Log) ask(ctx context.Context, which map[string]any) (found *stored, err error) {
	err = untilAvailable(ctx, l.cfg.Timeout, attemptLimit, func(ctx context.Context) error {
		found, err = l.askLeader(ctx, which)
		return err
	})
	return found, err
}

// askLeader is one attempt at that.
func (l *Log) askLeader(ctx context.Context, which map[string]any) (*stored, error) {
	request, err := json.Marshal(which)
	if err != nil {
		return nil, err
	}
	answer, err := l.nc.RequestWithContext(ctx, apiGetMessage, request)
	if err != nil {
		return nil, err
	}
	var body struct {
		Message *stored             `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &body); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBatchAnswer, err)
	}
	switch {
	case body.Error != nil && body.Error.ErrorCode == codeNoMessage:
		return nil, nil
	case body.Error != nil:
		return nil, body.Error
	case body.Message == nil:
		return nil, ErrBatchAnswer
	}
	return body.Message, nil
}
