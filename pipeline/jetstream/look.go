package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/schema"
)

// StoredBehind returns the sequence of the first message behind another and when
// the log stored it; 0 and the zero time when there is none.
func (l *Log) StoredBehind(ctx context.Context, seq uint64) (uint64, time.Time, error) {
	found, err := l.ask(ctx, map[string]any{"seq": seq + 1, "next_by_subj": schema.SubjectRoot + ".>"})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("stream %s, first message behind %d: %w", StreamName, seq, err)
	}
	if found == nil {
		return 0, time.Time{}, nil
	}
	return found.Sequence, found.Time.UTC(), nil
}

// CountDead returns the number of dead letters of a sink or an endpoint.
func (l *Log) CountDead(ctx context.Context, sink string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	subject := deadSubjects + "." + schema.EscapeToken(sink)
	s, err := l.js.Stream(ctx, DeadStreamName)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", DeadStreamName, err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", DeadStreamName, err)
	}
	return info.State.Subjects[subject], nil
}
