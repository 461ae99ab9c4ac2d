package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// refuse says why a stream is not brought to a configuration: the server could
// not do it, or events would go that are in the stream now. Tighter bounds that
// nothing exceeds yet are no loss.
func (c StreamConfig) refuse(ctx context.Context, s jetstream.Stream, wanted *jetstream.StreamConfig) (*MigrationError, error) {
	info := s.CachedInfo()
	if info.Config.Storage != wanted.Storage {
		return &MigrationError{Stream: wanted.Name,
			Reason: fmt.Sprintf("no server can change the storage of a stream, here from %s to %s",
				strings.ToLower(info.Config.Storage.String()), strings.ToLower(wanted.Storage.String())),
			Hint: "set nats.storage back, or move the log by hand: nats stream backup, delete, restore"}, nil
	}
	if c.AllowDataLoss || info.State.Msgs == 0 {
		return nil, nil
	}
	lost, err := losses(ctx, s, wanted)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	return &MigrationError{Stream: wanted.Name, Reason: "the new settings would delete " + strings.Join(lost, "; "),
		Hint: "change the settings, or set nats.allow_data_loss: true for one start"}, nil
}

// losses lists what a stream would lose at once under a configuration.
func losses(ctx context.Context, s jetstream.Stream, wanted *jetstream.StreamConfig) ([]string, error) {
	info := s.CachedInfo()
	old, state := &info.Config, &info.State
	average := state.Bytes / max(state.Msgs, 1)
	var lost []string
	if tighter(int64(old.MaxAge), int64(wanted.MaxAge)) {
		n, err := olderThan(ctx, s, wanted.MaxAge)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			lost = append(lost, fmt.Sprintf("%d of %d messages, about %d bytes, that are older than max_age %s",
				n, state.Msgs, n*average, span(wanted.MaxAge)))
		}
	}
	if b := uint64(max(wanted.MaxBytes, 0)); tighter(old.MaxBytes, wanted.MaxBytes) && state.Bytes > b {
		lost = append(lost, fmt.Sprintf("the oldest %d of %d bytes, about %d messages, that exceed max_bytes %d",
			state.Bytes-b, state.Bytes, (state.Bytes-b+average-1)/max(average, 1), b))
	}
	if m := uint64(max(wanted.MaxMsgs, 0)); tighter(old.MaxMsgs, wanted.MaxMsgs) && state.Msgs > m {
		lost = append(lost, fmt.Sprintf("the oldest %d of %d messages, about %d bytes, that exceed max_messages %d",
			state.Msgs-m, state.Msgs, (state.Msgs-m)*average, m))
	}
	return lost, nil
}

// tighter reports whether a bound is new, or lower than before.
func tighter(old, wanted int64) bool {
	return wanted > 0 && (old <= 0 || wanted < old)
}

// countingFor is how long the server keeps a consumer that only counts.
const countingFor = 10 * time.Second

// olderThan counts the messages of a stream beyond an age, by the server's count
// of those within it. The age counts from this machine's time.
func olderThan(ctx context.Context, s jetstream.Stream, age time.Duration) (uint64, error) {
	from := time.Now().Add(-age)
	state := s.CachedInfo().State
	switch {
	case !state.FirstTime.Before(from):
		return 0, nil
	case state.LastTime.Before(from):
		return state.Msgs, nil
	}
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Description: "counts what is younger than a new max_age", DeliverPolicy: jetstream.DeliverByStartTimePolicy,
		OptStartTime: &from, AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, InactiveThreshold: countingFor, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return 0, fmt.Errorf("stream %s: count what is older than %s: %w", s.CachedInfo().Config.Name, span(age), err)
	}
	younger := c.CachedInfo().NumPending
	err = s.DeleteConsumer(ctx, c.CachedInfo().Name)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, err
	}
	return state.Msgs - min(younger, state.Msgs), nil
}
