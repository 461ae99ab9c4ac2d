package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
)

// slowShelf takes its time with cursors, and fails with the first few.
type slowShelf struct {
	*shelf
	takes         time.Duration
	fails         int32
	begun, inHand atomic.Int32
	atOnce        atomic.Int32 // the most that were in hand together
}

func (s *slowShelf) SaveCursor(ctx context.Context, name string, v any) error {
	if !strings.HasPrefix(name, "endpoint.") {
		return s.shelf.SaveCursor(ctx, name, v)
	}
	s.atOnce.Store(max(s.atOnce.Load(), s.inHand.Add(1)))
	defer s.inHand.Add(-1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.begun.Add(1) <= s.fails {
		return errors.New("the disk is full")
	}
	return s.shelf.SaveCursor(ctx, name, v)
}

func (s *slowShelf) floor(t *testing.T) uint64 {
	t.Helper()
	var cursor pipeline.Cursor
	if _, err := s.LoadCursor(t.Context(), "endpoint.partner", &cursor); err != nil {
		t.Fatal(err)
	}
	return cursor.Floor
}

// A cursor that takes long to be stored holds up no delivery, one is stored at a
// time, and the last one says all.
func TestSlowCursorHoldsUpNoDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowShelf{shelf: newShelf(), takes: 3 * time.Second}
		r := &receiver{}
		cfg := parking(s.shelf, r)
		cfg.Cursors = s
		c := pipeline.NewCourier(cfg)
		s.add(t, versions(5, 1)...)
		stop := running(t, c.Run)
		wait(time.Second) // the first is on its way
		s.add(t, versions(40, 3)[5:]...)
		wait(time.Second)
		if got := len(r.all()); got != 120 || s.floor(t) != 0 || c.Progress().Position != 0 {
			t.Errorf("%d deliveries, cursor at %d, position %d", got, s.floor(t), c.Progress().Position)
		}
		wait(2 * time.Second)
		if s.floor(t) != 5 || c.Progress().Position != 5 {
			t.Errorf("cursor at %d, position %d, want 5", s.floor(t), c.Progress().Position)
		}
		stop() // while the second is on its way
		if s.floor(t) != 120 || s.atOnce.Load() != 1 {
			t.Errorf("cursor at %d, %d stored at once", s.floor(t), s.atOnce.Load())
		}
	})
}

// A cursor that cannot be stored is stored later, and nothing is left out.
func TestFailingCursorIsStoredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowShelf{shelf: newShelf(), takes: time.Millisecond, fails: 2}
		r := &receiver{}
		cfg := parking(s.shelf, r)
		cfg.Cursors = s
		c := pipeline.NewCourier(cfg)
		s.add(t, versions(5, 2)...)
		stop := running(t, c.Run)
		wait(300 * time.Millisecond)
		if p := c.Progress(); !strings.Contains(p.Failure, "the disk is full") {
			t.Errorf("%+v", p)
		}
		wait(time.Minute)
		if p := c.Progress(); s.floor(t) != 10 || p.Position != 10 || p.Failure != "" {
			t.Errorf("cursor at %d, %+v", s.floor(t), p)
		}
		stop()
		if doubles := inOrder(t, r.all(), 5, 2); doubles > 20 {
			t.Errorf("%d came again", doubles)
		}
	})
}
