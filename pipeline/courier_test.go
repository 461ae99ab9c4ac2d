package pipeline_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// shelf is a store of parked orders in memory, and reads a memoryLog again.
type shelf struct {
	*memoryLog
	mu     sync.Mutex
	parked map[string][]byte // JSON, as a store keeps it
	keys   map[string]schema.OrderKey
	saves  int
	fail   error         // of the next save, which is made all the same
	delay  func()        // of a save
	oldest atomic.Uint64 // what is before it has aged out of the log
}

func newShelf() *shelf {
	return &shelf{memoryLog: newMemoryLog(), parked: make(map[string][]byte), keys: make(map[string]schema.OrderKey)}
}

func (s *shelf) LoadParked(_ context.Context, _ string, take func(pipeline.Parked)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, b := range s.parked {
		var p pipeline.Parked
		if err := json.Unmarshal(b, &p); err != nil {
			return err
		}
		p.Key = s.keys[name]
		take(p)
	}
	return nil
}

func (s *shelf) SaveParked(ctx context.Context, _ string, put, gone []pipeline.Parked) error {
	if s.delay != nil {
		s.delay() // what is cut off may be stored all the same
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	name := func(p pipeline.Parked) string { return fmt.Sprint(p.Key, p.Single) }
	for _, p := range gone {
		delete(s.parked, name(p))
	}
	for _, p := range put {
		b, err := json.Marshal(p)
		if err != nil {
			return err
		}
		s.parked[name(p)], s.keys[name(p)] = b, p.Key
	}
	defer func() { s.fail = nil }()
	return errors.Join(s.fail, ctx.Err())
}

// stored returns what is parked, by its first sequence.
func (s *shelf) stored(tb testing.TB) []pipeline.Parked {
	tb.Helper()
	var all []pipeline.Parked
	if err := s.LoadParked(tb.Context(), "", func(p pipeline.Parked) { all = append(all, p) }); err != nil {
		tb.Fatal(err)
	}
	slices.SortFunc(all, func(a, b pipeline.Parked) int { return cmp.Compare(a.First, b.First) })
	return all
}

func (s *shelf) recall(_ context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error) {
	s.memoryLog.mu.Lock()
	defer s.memoryLog.mu.Unlock()
	for i := max(from, s.oldest.Load(), 1); i <= uint64(len(s.msgs)); i++ {
		if e, err := pipeline.ReadEntry(s.msgs[i-1]); err == nil && e.Event.Key() == key {
			return e, true, nil
		}
	}
	return schema.Entry{}, false, nil
}

// parking returns the configuration of a courier that parks.
func parking(s *shelf, d pipeline.Deliverer) pipeline.CourierConfig {
	return pipeline.CourierConfig{
		Name: "partner", Deliverer: d, Follow: s.follow, Bury: s.bury, Cursors: s, Parked: s, Recall: s.recall, Concurrency: 4, Window: 10,
	}
}

// versions makes v events of each of n orders, version by version.
func versions(n int, v uint64) []schema.Event {
	var all []schema.Event
	for i := uint64(1); i <= v; i++ {
		for k := range n {
			all = append(all, pipelinetest.Event("main", k, i))
		}
	}
	return all
}

// inOrder reports what is wrong with the first arrivals of n orders of v events,
// and returns how many arrivals were more than the first.
func inOrder(tb testing.TB, got []string, n int, v uint64) (doubles int) {
	tb.Helper()
	next := make(map[string]uint64)
	for _, name := range got {
		order, text, _ := strings.Cut(name, "/")
		var version uint64
		if _, err := fmt.Sscan(text, &version); err != nil {
			tb.Fatal(err)
		}
		switch {
		case version == next[order]+1:
			next[order]++
		case version <= next[order]:
			doubles++
		default:
			tb.Errorf("%s comes behind version %d", name, next[order])
		}
	}
	for k := range n {
		if order := fmt.Sprintf("SN-%06d", k); next[order] != v {
			tb.Errorf("of %s came %d versions", order, next[order])
		}
	}
	return doubles
}

func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake time of synctest
	synctest.Wait()
}

// An order that always fails holds up nobody, and far more than a window of them
// neither.
func TestParkedOrdersLetAllOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		r := &receiver{answer: func(e schema.Entry, _ int) error {
			if e.Event.Data.Order.OrderSn.String() < "SN-000050" {
				return refusal{}
			}
			return nil
		}}
		s.add(t, versions(60, 3)...)
		c := pipeline.NewCourier(parking(s, r))
		stop := running(t, c.Run)
		wait(time.Second)
		if got := len(r.all()); got != 30 {
			t.Errorf("%d events of the others came", got)
		}
		if p := c.Progress(); p.Position != 180 || p.Delivery.Parked != 50 || p.Delivery.Oldest.IsZero() || p.Failure != "50 deliveries wait for another attempt" {
			t.Errorf("%+v", p)
		}
		stop()
		all := s.stored(t)
		if len(all) != 50 || all[7].First != 8 || all[7].Version != 1 || all[7].Attempts != 1 || all[7].Class != "no answer" {
			t.Errorf("parked %+v", all)
		}
	})
}

// The attempts of a parked order go on where they were when the process ends.
func TestParkedOrdersSurviveRestarts(t *testing.T) {
	for name, deposed := range map[string]bool{"shutdown": false, "deposed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				r := &receiver{answer: func(e schema.Entry, _ int) error {
					if e.Sequence == 1 {
						return refusal{}
					}
					return nil
				}}
				s.add(t, versions(2, 3)...)
				for range 40 {
					run := pipeline.NewCourier(parking(s, r)).Run
					var stop func()
					if deposed {
						stop = deposable(t, run)
					} else {
						stop = running(t, run)
					}
					wait(3*time.Hour + 7*time.Second)
					stop()
				}
				if want := 1 + len(pipeline.DefaultSchedule); len(s.dead) != 1 || s.dead[0].Attempts != want || r.tries[1] != want {
					t.Errorf("dead %+v after %d tries", s.dead, r.tries[1])
				}
				if got := r.all(); !slices.Equal(got[len(got)-2:], []string{"SN-000000/2", "SN-000000/3"}) || len(got) != 5 {
					t.Errorf("came: %v", got)
				}
				if left := s.stored(t); len(left) != 0 {
					t.Errorf("left: %+v", left)
				}
			})
		})
	}
}

// dice are thrown by many goroutines.
type dice struct {
	mu sync.Mutex
	*rand.PCG
}

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.Uint64() % uint64(n))
}

// pause takes up to some milliseconds.
func (d *dice) pause(most int) {
	time.Sleep(time.Duration(d.roll(most)) * time.Millisecond) //nolint:forbidigo // fake time of synctest
}

// unreliable takes its time, and may take an event although it says that it has
// not.
type unreliable struct {
	receiver
	dice  *dice
	worse float64
}

func (u *unreliable) Deliver(ctx context.Context, e *schema.Entry) error {
	u.dice.pause(300)
	if float64(u.dice.roll(1000)) >= 1000*u.worse {
		if err := u.receiver.Deliver(ctx, e); err != nil {
			return err
		}
		return ctx.Err()
	}
	if u.dice.roll(4) == 0 {
		_ = u.receiver.Deliver(ctx, e)
	}
	return refusal{}
}

// Whatever fails and however often the process crashes, all comes, and each
// order's first arrivals in order.
func TestParkedOrdersKeepTheirOrderOverCrashes(t *testing.T) {
	for seed := range uint64(30) {
		for _, unordered := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				random := dice{PCG: rand.NewPCG(seed, 1)}
				r := &unreliable{dice: &random, worse: []float64{0, 0.1, 0.5, 0.9}[seed%4]}
				s.delay = func() { random.pause(400) }
				all := versions(12, 6)
				cfg := parking(s, r)
				cfg.Schedule, cfg.Unordered = slices.Repeat([]time.Duration{time.Second}, 500), unordered
				for len(all) > 0 {
					n := min(len(all), random.roll(20))
					s.add(t, all[:n]...)
					all = all[n:]
					run := pipeline.NewCourier(cfg).Run
					stop := deposable(t, run)
					if random.roll(4) == 0 {
						stop()
						stop = running(t, pipeline.NewCourier(cfg).Run)
					}
					random.pause(3000)
					if random.roll(5) == 0 {
						s.mu.Lock()
						s.fail = errors.New("no answer")
						s.mu.Unlock()
						random.pause(1000)
					}
					stop()
				}
				c := pipeline.NewCourier(cfg)
				stop := running(t, c.Run)
				wait(time.Hour)
				stop()
				if unordered {
					names := r.all()
					slices.Sort(names)
					if got := len(slices.Compact(names)); got != 72 {
						t.Errorf("seed %d: %d events came", seed, got)
					}
				} else if doubles := inOrder(t, r.all(), 12, 6); testing.Verbose() {
					t.Logf("seed %d: %d of %d arrivals are doubles", seed, doubles, len(r.all()))
				}
				if p := c.Progress(); p.Position != 72 || p.Delivery.Parked != 0 || len(s.stored(t)) != 0 || len(s.dead) != 0 {
					t.Errorf("seed %d: %+v, parked %+v, dead %d", seed, p, s.stored(t), len(s.dead))
				}
			})
		}
	}
}

// An attempt that the end of the process cuts off is no failure.
func TestShutdownCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, events(3)...)
		cfg := parking(s, &hanging{})
		cfg.Concurrency = 1
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(time.Minute)
		begun := time.Now()
		stop()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it ended after %v", took)
		}
		var cursor pipeline.Cursor
		if _, err := s.LoadCursor(t.Context(), "endpoint.partner", &cursor); err != nil || cursor.Floor != 1 {
			t.Errorf("cursor %+v, %v", cursor, err)
		}
		if p := s.stored(t); len(p) != 0 {
			t.Errorf("parked: %+v", p)
		}
	})
}

func TestExhaustedOrdersStayParkedUntilReleased(t *testing.T) {
	for name, skip := range map[string]bool{"tried again": false, "passed over": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				var down atomic.Bool
				down.Store(true)
				r := &receiver{answer: func(e schema.Entry, _ int) error {
					if e.Sequence == 1 && down.Load() {
						return refusal{}
					}
					return nil
				}}
				s.add(t, versions(1, 3)...)
				cfg := parking(s, r)
				cfg.HoldExhausted = true
				event := versions(1, 1)[0]
				key := event.Key()
				for range 2 { // it is held over a restart, too
					stop := running(t, pipeline.NewCourier(cfg).Run)
					wait(10 * 24 * time.Hour)
					stop()
				}
				if held := s.stored(t); len(s.dead) != 1 || len(held) != 1 || !held[0].Held || len(r.all()) != 0 {
					t.Errorf("dead %d, parked %+v, came %v", len(s.dead), held, r.all())
				}
				down.Store(false)
				c := pipeline.NewCourier(cfg)
				stop := running(t, c.Run)
				if err := c.Release(t.Context(), key, skip); err != nil {
					t.Fatal(err)
				}
				wait(time.Second)
				stop()
				want := []string{"SN-000000/1", "SN-000000/2", "SN-000000/3"}
				if skip {
					want = want[1:]
				}
				if got := r.all(); !slices.Equal(got, want) || len(s.stored(t)) != 0 {
					t.Errorf("came %v, parked %+v", got, s.stored(t))
				}
			})
		})
	}
}

// answered is a failure with a status.
type answered struct {
	status int
	after  time.Duration
}

func (a answered) Error() string             { return fmt.Sprint(a.status) }
func (a answered) Status() int               { return a.status }
func (a answered) RetryAfter() time.Duration { return a.after }
func (a answered) Permanent() bool           { return a.status == 410 }

func TestGoneDisablesUntilResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		var gone atomic.Bool
		gone.Store(true)
		r := &receiver{answer: func(e schema.Entry, _ int) error {
			if gone.Load() && e.Sequence >= 3 {
				return answered{status: 410}
			}
			return nil
		}}
		s.add(t, versions(10, 3)...)
		var tried int
		for range 3 {
			c := pipeline.NewCourier(parking(s, r))
			stop := running(t, c.Run)
			wait(24 * time.Hour)
			if p := c.Progress(); p.Delivery.Disabled == "" || !strings.Contains(p.Failure, "410 Gone") {
				t.Errorf("%+v", p)
			}
			if err := c.Drain(t.Context(), 30); err != nil { // does not wait for what a person has to do
				t.Error(err)
			}
			stop()
			now := 0
			for _, n := range r.tries {
				now += n
			}
			if tried != 0 && now != tried {
				t.Errorf("%d attempts after a restart", now-tried)
			}
			tried = now
		}
		gone.Store(false)
		stop := running(t, pipeline.NewCourier(parking(s, r)).Run)
		wait(time.Second)
		if err := pipeline.Resume(t.Context(), s, "partner"); err != nil {
			t.Fatal(err)
		}
		wait(11 * time.Second)
		stop()
		if doubles := inOrder(t, r.all(), 10, 3); doubles > 0 || len(s.dead) > 0 {
			t.Errorf("%d doubles, %d dead letters", doubles, len(s.dead))
		}
	})
}

// An endpoint that is down for days costs no event its attempts, and is asked
// less and less often.
func TestBreakerSparesAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		var down atomic.Bool
		down.Store(true)
		var asked atomic.Int64
		r := &receiver{answer: func(schema.Entry, int) error {
			if asked.Add(1); down.Load() {
				return refusal{}
			}
			return nil
		}}
		cfg := parking(s, r)
		cfg.BreakAfter = 20
		s.add(t, versions(200, 2)...)
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		wait(7 * 24 * time.Hour)
		p := c.Progress()
		if !p.Delivery.Broken || p.Delivery.Parked > 24 || p.Position > 34 || p.Failure != "every delivery fails; the endpoint is paused and probed" {
			t.Errorf("%+v", p)
		}
		if n := asked.Load(); n < 7*24*12*9/10 || n > 7*24*12*12/10 {
			t.Errorf("%d attempts in a week", n)
		}
		stop()
		for _, o := range s.stored(t) {
			if o.Attempts > 2 {
				t.Errorf("attempts were used up: %+v", o)
			}
		}
		before := asked.Load()
		stop = running(t, pipeline.NewCourier(cfg).Run) // a restart does not forget
		wait(time.Second)
		if n := asked.Load() - before; n > 1 {
			t.Errorf("%d attempts after a restart", n)
		}
		down.Store(false)
		wait(time.Hour)
		stop()
		if doubles := inOrder(t, r.all(), 200, 2); doubles > 0 || len(s.dead) > 0 || len(s.stored(t)) > 0 {
			t.Errorf("%d doubles, %d dead letters, parked %v", doubles, len(s.dead), s.stored(t))
		}
	})
}

// However often one order fails, that is no reason to pause the endpoint.
func TestBreakerNeedsManyOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		r := &receiver{answer: func(schema.Entry, int) error { return refusal{} }}
		cfg := parking(s, r)
		cfg.BreakAfter = 3
		s.add(t, versions(2, 1)...)
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(10 * 24 * time.Hour)
		stop()
		if len(s.dead) != 2 {
			t.Errorf("%d dead letters", len(s.dead))
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newShelf(), &receiver{}
		s.add(t, versions(500, 1)...)
		cfg := parking(s, r)
		cfg.RateLimit = 20
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		wait(10 * time.Second)
		if n := len(r.all()); n < 195 || n > 202 {
			t.Errorf("%d deliveries in 10 s", n)
		}
		if p := c.Progress(); p.Delivery.Rate != 20 {
			t.Errorf("%+v", p)
		}
		stop()
	})
}

// A receiver that says that it is too much gets less, and more again later.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		var cross atomic.Bool
		r := &receiver{answer: func(schema.Entry, int) error {
			if cross.Swap(false) {
				return answered{status: 429, after: time.Minute}
			}
			return nil
		}}
		s.add(t, versions(20000, 1)...)
		cfg := parking(s, r)
		cfg.RateLimit = 40
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		wait(10 * time.Second)
		cross.Store(true)
		wait(time.Second)
		before := len(r.all())
		wait(58 * time.Second)
		if n := len(r.all()); n != before {
			t.Errorf("%d deliveries in the pause", n-before)
		}
		cross.Store(true)
		wait(time.Minute + 2*time.Second) // a pause again, and the pace halved once more
		if rate := c.Progress().Delivery.Rate; rate < 9 || rate > 15 {
			t.Errorf("rate %v", rate)
		}
		before = len(r.all())
		wait(time.Second)
		if n := len(r.all()) - before; n < 8 || n > 16 {
			t.Errorf("%d deliveries in a second", n)
		}
		wait(30 * time.Second)
		if rate := c.Progress().Delivery.Rate; rate != 40 {
			t.Errorf("rate %v", rate)
		}
		stop()
	})
}

// A receiver that answers 503 now and then is not slowed down for that, one that
// does so often is, but not without end.
func TestThrottleTellsFailuresFromPace(t *testing.T) {
	for every, want := range map[int]float64{10: 80, 2: 10} {
		synctest.Test(t, func(t *testing.T) {
			s, n := newShelf(), 0
			r := &receiver{answer: func(schema.Entry, int) error {
				if n++; n > 5 && n%every == 0 {
					return answered{status: 503}
				}
				return nil
			}}
			s.add(t, versions(3000, 1)...)
			cfg := parking(s, r)
			cfg.RateLimit = 80
			c := pipeline.NewCourier(cfg)
			stop := running(t, c.Run)
			wait(20 * time.Second)
			if rate := c.Progress().Delivery.Rate; rate < want || rate > 2*want {
				t.Errorf("one of %d fails: rate %v", every, rate)
			}
			stop()
		})
	}
}

func TestUnorderedEventsStandForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		r := &receiver{answer: func(e schema.Entry, tries int) error {
			if e.Sequence == 2 && tries < 3 {
				return refusal{}
			}
			return nil
		}}
		s.add(t, versions(1, 3)...)
		cfg := parking(s, r)
		cfg.Unordered = true
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(time.Second)
		if got := r.all(); len(got) != 2 || slices.Contains(got, "SN-000000/2") {
			t.Errorf("at first: %v", got)
		}
		if p := s.stored(t); len(p) != 1 || p[0].Single != 2 {
			t.Errorf("parked: %+v", p)
		}
		stop()
		stop = running(t, pipeline.NewCourier(cfg).Run)
		wait(time.Hour)
		stop()
		if got := r.all(); len(got) != 3 || got[2] != "SN-000000/2" || len(s.stored(t)) != 0 {
			t.Errorf("later: %v, parked %+v", got, s.stored(t))
		}
	})
}

// slow is a receiver of which the orders of account "slow" hang until the
// attempt is cut off.
type slow struct{ receiver }

func (s *slow) Deliver(ctx context.Context, e *schema.Entry) error {
	if e.Event.Data.Account == "slow" {
		time.Sleep(15 * time.Second) //nolint:forbidigo // fake time of synctest
		return context.DeadlineExceeded
	}
	return s.receiver.Deliver(ctx, e)
}

// Retries that hang leave slots for new events, and new events leave some for
// retries.
func TestRetriesAndNewEventsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newShelf(), &slow{}
		for n := range 40 {
			s.add(t, pipelinetest.Event("slow", n, 1))
		}
		cfg := parking(s, r)
		cfg.BreakAfter = -1
		cfg.Schedule = []time.Duration{time.Second, time.Second, time.Second}
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(330 * time.Second) // all have failed once, and there are more retries than slots
		s.add(t, versions(100, 1)...)
		wait(time.Second)
		if n := len(r.all()); n != 100 {
			t.Errorf("%d of 100 new events came in a second", n)
		}
		wait(40 * 3 * 15 * time.Second)
		if len(s.dead) != 40 {
			t.Errorf("%d of 40 had all their attempts", len(s.dead))
		}
		stop()
	})
}

// ponderous takes a tenth of a second for each event.
type ponderous struct{ receiver }

func (p *ponderous) Deliver(ctx context.Context, e *schema.Entry) error {
	time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time of synctest
	return p.receiver.Deliver(ctx, e)
}

// A retry gets its turn although there are always new events.
func TestNewEventsDoNotStarveRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		r := &ponderous{receiver{answer: func(e schema.Entry, tries int) error {
			if e.Sequence == 1 && tries == 1 {
				return refusal{}
			}
			return nil
		}}}
		s.add(t, versions(1000, 1)...)
		cfg := parking(s, r)
		cfg.Concurrency = 1
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(6 * time.Second)
		if got := r.all(); !slices.Contains(got, "SN-000000/1") || len(got) < 50 {
			t.Errorf("%d events came, the first is not among them", len(got))
		}
		stop()
	})
}

// What a parked order gets from the log before it comes along does not come twice.
func TestParkedOrderIsAheadOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newShelf(), &receiver{}
		s.add(t, versions(2, 3)...)
		cursor := pipeline.Cursor{Done: []uint64{6}}
		if err := s.SaveCursor(t.Context(), "endpoint.partner", cursor); err != nil {
			t.Fatal(err)
		}
		event := pipelinetest.Event("main", 0, 1)
		if err := s.SaveParked(t.Context(), "partner", []pipeline.Parked{{Key: event.Key(), First: 1, Version: 1, Attempts: 1}}, nil); err != nil {
			t.Fatal(err)
		}
		cfg := parking(s, r)
		cfg.Follow = func(ctx context.Context, after uint64) (<-chan *message.Message, error) {
			in, err := s.follow(ctx, after)
			out := make(chan *message.Message)
			go func() {
				defer close(out)
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				for m := range in {
					select {
					case out <- m:
					case <-ctx.Done():
					}
				}
			}()
			return out, err
		}
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		wait(500 * time.Millisecond)
		if got := r.all(); !slices.Equal(got, []string{"SN-000000/1", "SN-000000/2", "SN-000000/3"}) {
			t.Errorf("at first: %v", got)
		}
		wait(2 * time.Second)
		s.add(t, pipelinetest.Event("main", 0, 4))
		wait(time.Second)
		stop()
		want := []string{"SN-000000/1", "SN-000000/2", "SN-000000/3", "SN-000001/1", "SN-000001/2", "SN-000000/4"}
		got := r.all()
		slices.Sort(got[3:5])
		if !slices.Equal(got, want) || c.Progress().Position != 7 || len(s.stored(t)) != 0 {
			t.Errorf("came %v, %+v", got, c.Progress())
		}
	})
}

// What has aged out of the log before a parked order got it comes from the archive;
// without one, the order waits, and says so.
func TestParkedOrderReachesBehindTheLog(t *testing.T) {
	for name, archived := range map[string]bool{"archive": true, "no archive": false, "not in the archive": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				r := &receiver{answer: func(e schema.Entry, tries int) error {
					if e.Sequence == 1 && tries < 3 {
						return refusal{}
					}
					return nil
				}}
				s.add(t, versions(2, 3)...)
				cfg := parking(s, r)
				cfg.Retention = pipeline.Retention{
					First: func(context.Context) (uint64, error) { return max(1, s.oldest.Load()), nil }, Hint: func(_, _ uint64) string { return "" },
				}
				cfg.Archive = (&shelf{memoryLog: s.memoryLog}).recall
				switch name {
				case "no archive":
					cfg.Archive = nil
				case "not in the archive":
					cfg.Archive = func(context.Context, schema.OrderKey, uint64) (schema.Entry, bool, error) {
						return schema.Entry{}, false, fmt.Errorf("events are missing: %w", pipeline.ErrGone)
					}
				}
				stop := running(t, pipeline.NewCourier(cfg).Run)
				wait(time.Second)
				s.oldest.Store(5)
				wait(24 * time.Hour)
				stop()
				got := r.all()
				if archived {
					inOrder(t, got, 2, 3)
				} else if len(got) != 3 || r.tries[5] != 0 || len(s.stored(t)) != 1 {
					t.Errorf("came %v, parked %+v", got, s.stored(t))
				}
			})
		})
	}
}

// 10,000 parked orders are small in memory.
func TestParkedOrdersAreSmall(t *testing.T) {
	const orders = 10_000
	s := newShelf()
	now := time.Now()
	for n := range orders {
		event := pipelinetest.Event("main", n, 1)
		k := event.Key()
		b, err := json.Marshal(pipeline.Parked{First: uint64(n + 1), Version: 1, Attempts: 3, Next: now.Add(time.Hour), Since: now, Stored: now, Class: "503"})
		if err != nil {
			t.Fatal(err)
		}
		s.parked[k.String()], s.keys[k.String()] = b, k
	}
	if err := s.SaveCursor(t.Context(), "endpoint.partner", pipeline.Cursor{Floor: orders}); err != nil {
		t.Fatal(err)
	}
	s.msgs = make([]*message.Message, orders)
	before := heap()
	c := pipeline.NewCourier(parking(s, &receiver{}))
	stop := running(t, c.Run)
	deadline := time.Now().Add(10 * time.Second)
	for c.Progress().Delivery.Parked != orders && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	if each := (heap() - before) / orders; each > 1024 {
		t.Errorf("%d bytes for each parked order", each)
	} else {
		t.Logf("%d bytes for each parked order", each)
	}
	if n := c.Progress().Delivery.Parked; n != orders {
		t.Errorf("%d are parked", n)
	}
	stop()
}

// forgetful is a store that keeps nothing.
type forgetful struct{}

func (forgetful) LoadParked(context.Context, string, func(pipeline.Parked)) error { return nil }
func (forgetful) SaveParked(context.Context, string, []pipeline.Parked, []pipeline.Parked) error {
	return nil
}

// Those that have just failed hold nothing of their events.
func TestOrdersThatAreParkedLetGoOfTheirEvents(t *testing.T) {
	const orders = 10_000
	s := newShelf()
	cfg := parking(s, &receiver{tries: make(map[uint64]int, orders), answer: func(schema.Entry, int) error { return refusal{} }})
	cfg.BreakAfter, cfg.Parked = -1, forgetful{}
	cfg.Follow = func(ctx context.Context, _ uint64) (<-chan *message.Message, error) {
		out := make(chan *message.Message)
		go func() {
			for n := range orders {
				raw, err := json.Marshal(pipelinetest.Event("main", n, 1))
				if err != nil {
					panic(err)
				}
				select {
				case out <- &message.Message{Payload: raw, Metadata: message.Metadata{pipeline.MetaSequence: fmt.Sprint(n + 1), pipeline.MetaStored: "1790000000000000000"}}:
				case <-ctx.Done():
				}
			}
		}()
		return out, nil
	}
	before := heap()
	c := pipeline.NewCourier(cfg)
	stop := running(t, c.Run)
	for deadline := time.Now().Add(20 * time.Second); c.Progress().Delivery.Parked != orders && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
	if each := (heap() - before) / orders; each > 1024 || c.Progress().Delivery.Parked != orders {
		t.Errorf("%d bytes for each of %d parked orders", each, c.Progress().Delivery.Parked)
	} else {
		t.Logf("%d bytes for each parked order", each)
	}
	stop()
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A cursor as an earlier version has saved it is taken as it is.
func TestCursorOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newShelf(), &receiver{}
		s.add(t, versions(6, 1)...)
		s.cursor["endpoint.partner"] = []byte(`{"floor":2,"done":[4,6]}`)
		c := pipeline.NewCourier(parking(s, r))
		stop := running(t, c.Run)
		wait(time.Second)
		stop()
		if got := slices.Sorted(maps.Keys(r.tries)); !slices.Equal(got, []uint64{3, 5}) || c.Progress().Position != 6 {
			t.Errorf("delivered %v, %+v", got, c.Progress())
		}
	})
}
