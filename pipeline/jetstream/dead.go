package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// Headers of a dead letter.
const (
	headerDeadSink     = "Orderwire-Dead-Sink"
	headerDeadReason   = "Orderwire-Dead-Reason"
	headerDeadSubject  = "Orderwire-Dead-Subject"
	headerDeadSequence = "Orderwire-Dead-Sequence"
	headerDeadAttempts = "Orderwire-Dead-Attempts"
)

// Bury stores a message that a sink could not take, with the reason, in stream
// ORDERS_DLQ under "orders_dlq.<sink>". The same message of the same sink is
// stored once, as long as the server remembers ids (two minutes).
func (l *Log) Bury(ctx context.Context, d pipeline.DeadLetter) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	m := nats.NewMsg(deadSubjects + "." + schema.EscapeToken(d.Sink))
	m.Data = d.Raw
	m.Header.Set(jetstream.MsgIDHeader, deadID(d))
	m.Header.Set(headerDeadSink, d.Sink)
	m.Header.Set(headerDeadReason, d.Reason)
	m.Header.Set(headerDeadSubject, d.Subject)
	m.Header.Set(headerDeadSequence, strconv.FormatUint(d.Sequence, 10))
	m.Header.Set(headerDeadAttempts, strconv.Itoa(d.Attempts))
	if _, err := l.js.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("dead letter of %s: %w", d.Sink, err)
	}
	return nil
}

// bury writes a message into the dead letters and takes it out of the window
// when it is there. Until then it stays unsettled on the server: while the dead
// letters cannot be written, it is tried again, and when the session ends, the
// message comes again.
func (s *session) bury(ctx context.Context, d *delivery, reason string) {
	letter := pipeline.DeadLetter{
		Sink: s.cfg.Durable, Reason: reason, Subject: d.raw.Subject(), Sequence: d.sequence, Attempts: d.count, Raw: d.raw.Data(),
	}
	s.log.cfg.Logger.Error("message goes into the dead letters", "consumer", s.name, "sequence", d.sequence, "reason", reason)
	s.active.Go(func() {
		retry := newPause(consumerPause)
		for {
			err := s.log.Bury(ctx, letter)
			if err == nil {
				s.win.bury(d)
				return
			}
			s.log.cfg.Logger.Warn("dead letters cannot be written, trying again", "consumer", s.name, "sequence", d.sequence, "error", err)
			if !waitFor(ctx, retry.NextBackOff()) {
				return
			}
		}
	})
}

func deadID(d pipeline.DeadLetter) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", d.Sink, d.Sequence, d.Raw))
	return hex.EncodeToString(sum[:16])
}
