package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// observe keeps the floor, and ends the session when the consumer is gone.
func (s *session) observe(ctx context.Context) {
	tick := time.NewTicker(floorEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.check:
		case <-tick.C:
			if !s.settled.Swap(false) {
				continue
			}
		}
		if err := s.look(ctx); err != nil {
			s.fail(err)
			return
		}
		if s.foreignAck() {
			s.fail(errForeignAck)
			return
		}
	}
}

// foreignAck reports whether the server has an acknowledgement that this session
// did not send: of a reader that should be gone. With it the server would ignore
// those of this session until their numbers are higher.
func (s *session) foreignAck() bool {
	return s.cfg.AckAll && !s.cfg.Pinned && s.cons.CachedInfo().AckFloor.Consumer > s.acked.Load()
}

// consumeError takes what the client reports while it goes on by itself.
func (s *session) consumeError(err error) {
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
	case errors.Is(err, jetstream.ErrPinIDMismatch):
		s.fail(err)
	case errors.Is(err, jetstream.ErrNoHeartbeat):
		if s.cfg.Pinned { // another reader may have taken over
			s.fail(errSilent)
			return
		}
		s.ask()
	case errors.Is(err, nats.ErrNoResponders):
		s.ask()
	default:
		s.log.cfg.Logger.Warn("subscription", "consumer", s.name, "error", err)
	}
}

// ask has the server asked whether the consumer is there.
func (s *session) ask() {
	select {
	case s.check <- struct{}{}:
	default:
	}
}
