package pipeline_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// telling is a shelf that tells of changes of its documents.
type telling struct {
	*shelf
	mu     sync.Mutex
	listen map[string][]chan []byte
}

func newTelling() *telling {
	return &telling{shelf: newShelf(), listen: make(map[string][]chan []byte)}
}

func (s *telling) SaveCursor(ctx context.Context, name string, v any) error {
	if err := s.shelf.SaveCursor(ctx, name, v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.listen[name] {
		select {
		case <-c:
		default:
		}
		c <- b
	}
	return err
}

func (s *telling) watch(_ context.Context, name string) (<-chan []byte, error) {
	c := make(chan []byte, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listen[name] = append(s.listen[name], c)
	return c, nil
}

func (s *telling) parking(d pipeline.Deliverer) pipeline.CourierConfig {
	cfg := parking(s.shelf, d)
	cfg.Cursors, cfg.Watch = s, s.watch
	return cfg
}

func standingOf(tb testing.TB, s pipeline.CursorStore) pipeline.Standing {
	tb.Helper()
	at, err := pipeline.LoadStanding(tb.Context(), s, "partner")
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

// A paused endpoint gets nothing, over restarts too, and when it is resumed, all of
// it in order. What is under way ends; the window stays within its bound, and a
// drain does not wait.
func TestPausedUntilResumed(t *testing.T) {
	for name, after := range map[string]time.Duration{"told": 0, "looking": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTelling()
				r := &receiver{}
				slow := deliverFunc(func(ctx context.Context, e *schema.Entry) error {
					time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time of synctest
					return r.Deliver(ctx, e)
				})
				cfg := s.parking(slow)
				if after > 0 {
					cfg.Watch = nil
				}
				s.add(t, versions(10, 2)...)
				c := pipeline.NewCourier(cfg)
				stop := running(t, c.Run)
				wait(50 * time.Millisecond) // four are under way
				if err := pipeline.Pause(t.Context(), s, "partner", "moves house"); err != nil {
					t.Fatal(err)
				}
				wait(after + time.Second)
				before := len(r.all())
				if after == 0 && before != 4 {
					t.Errorf("%d came when it was paused", before)
				}
				s.add(t, versions(10, 4)[20:]...)
				wait(time.Hour)
				if p := c.Progress(); len(r.all()) != before || !p.Delivery.Paused || p.Delivery.Reason != "moves house" || !strings.Contains(p.Failure, "moves house") {
					t.Errorf("%d came, %+v", len(r.all())-before, p)
				}
				if err := c.Drain(t.Context(), 20); err != nil {
					t.Error(err)
				}
				stop()
				position := c.Progress().Position

				c = pipeline.NewCourier(cfg)
				stop = running(t, c.Run)
				wait(time.Hour)
				if p := c.Progress(); len(r.all()) != before || !p.Delivery.Paused || p.Position != position {
					t.Errorf("after a restart %d came, %+v", len(r.all())-before, p)
				}
				if at := standingOf(t, s); !at.Paused || at.Reason != "moves house" || at.PausedAt.IsZero() {
					t.Errorf("%+v", at)
				}
				if err := pipeline.Resume(t.Context(), s, "partner"); err != nil {
					t.Fatal(err)
				}
				wait(after + 5*time.Second)
				stop()
				if p := c.Progress(); p.Position != 40 || p.Delivery.Paused || p.Failure != "" || len(r.all()) != 40 || standingOf(t, s) != (pipeline.Standing{}) {
					t.Errorf("%d came, %+v, %+v", len(r.all()), p, standingOf(t, s))
				}
				if doubles := inOrder(t, r.all(), 10, 4); doubles > 0 {
					t.Errorf("%d doubles", doubles)
				}
			})
		})
	}
}

// deliverFunc is a deliverer.
type deliverFunc func(context.Context, *schema.Entry) error

func (f deliverFunc) Deliver(ctx context.Context, e *schema.Entry) error { return f(ctx, e) }

// A person pauses while the breaker opens, or while the receiver wants no more: both
// hold, whoever writes last, and resuming ends what a person can end.
func TestPausedWhileTheCourierStopsItself(t *testing.T) {
	for name, failure := range map[string]error{"broken": refusal{}, "disabled": answered{status: 410}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTelling()
				var mended atomic.Bool
				var once sync.Once
				r := &receiver{answer: func(schema.Entry, int) error {
					if mended.Load() {
						return nil
					}
					once.Do(func() {
						if err := pipeline.Pause(t.Context(), s, "partner", "both"); err != nil {
							t.Error(err)
						}
					})
					return failure
				}}
				cfg := s.parking(r)
				cfg.BreakAfter, cfg.Concurrency = 1, 1
				s.add(t, versions(10, 1)...)
				c := pipeline.NewCourier(cfg)
				stop := running(t, c.Run)
				wait(time.Minute)
				at := standingOf(t, s)
				if !at.Paused || at.Reason != "both" || at.Broken != (name == "broken") || (at.Disabled != "") != (name == "disabled") {
					t.Errorf("%+v", at)
				}
				if d := c.Progress().Delivery; !d.Paused || d.Broken != at.Broken || d.Disabled != at.Disabled {
					t.Errorf("%+v", d)
				}
				mended.Store(true)
				if err := pipeline.Resume(t.Context(), s, "partner"); err != nil {
					t.Fatal(err)
				}
				wait(10 * time.Second) // for the order that was parked; the probe comes at once
				stop()
				if len(r.all()) != 10 || standingOf(t, s) != (pipeline.Standing{}) {
					t.Errorf("%d came, %+v", len(r.all()), standingOf(t, s))
				}
			})
		})
	}
}

// A pause that is written with what was read before a resume does not bring back
// that the endpoint was disabled.
func TestLatePauseDoesNotDisable(t *testing.T) {
	t.Parallel()
	s := newShelf()
	ctx := t.Context()
	disabled := map[string]any{"disabled": "the receiver answered 410 Gone", "resumes": 3}
	for _, err := range []error{
		s.SaveCursor(ctx, "standing.partner", disabled), pipeline.Resume(ctx, s, "partner"),
		s.SaveCursor(ctx, "pause.partner", map[string]any{"paused": true, "resumes": 3}), // the late one
		pipeline.Resume(ctx, s, "partner"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if at := standingOf(t, s); at != (pipeline.Standing{}) {
		t.Errorf("%+v", at)
	}
	// What stood there before there was a count.
	if err := s.SaveCursor(ctx, "standing.partner", map[string]any{"disabled": "old"}); err != nil {
		t.Fatal(err)
	}
	s.cursor["pause.partner"] = []byte("{}")
	if at := standingOf(t, s); at.Disabled != "old" {
		t.Errorf("%+v", at)
	}
}

func TestReleaseOfWhatIsNotParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, versions(1, 1)...)
		c := pipeline.NewCourier(parking(s, &receiver{}))
		stop := running(t, c.Run)
		defer stop()
		wait(time.Second)
		err := c.Release(t.Context(), schema.OrderKey{Account: "main", OrderSn: "none"}, false)
		if err == nil || !strings.Contains(err.Error(), "not parked") {
			t.Errorf("%v", err)
		}
	})
}
