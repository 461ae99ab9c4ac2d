package pipeline_test

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// quoting is a refusal that quotes the answer.
type quoting struct {
	answered
	answer []byte
}

func (q quoting) Excerpt() []byte { return q.answer }

// tape keeps what it is told of attempts; the courier's goroutine writes it.
type tape []pipeline.Attempt

func (t *tape) record(a pipeline.Attempt) {
	*t = append(*t, a)
}

// taped runs a courier for a while and returns its attempts.
func taped(t *testing.T, cfg pipeline.CourierConfig, lasting time.Duration) tape {
	t.Helper()
	var all tape
	cfg.Attempted = all.record
	stop := running(t, pipeline.NewCourier(cfg).Run)
	wait(lasting)
	stop()
	return all
}

// An event that is refused twice and then taken: every attempt is told, with the
// time at which the next one is really made.
func TestAttemptsAreTold(t *testing.T) {
	for name, durable := range map[string]bool{"parked": true, "in the window": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				s.add(t, versions(1, 2)...)
				r := &ponderous{receiver{answer: func(e schema.Entry, n int) error {
					if e.Sequence == 1 && n <= 2 {
						return quoting{answered{status: 500}, bytes.Repeat([]byte("x"), 3000)}
					}
					return nil
				}}}
				cfg := parking(s, r)
				if !durable {
					cfg.Parked, cfg.Recall = nil, nil
				}
				all := taped(t, cfg, time.Hour)
				if len(all) != 4 {
					t.Fatalf("%d attempts: %+v", len(all), all)
				}
				first := versions(1, 1)[0]
				for i, a := range all[:3] {
					if a.Endpoint != "partner" || a.Key != first.Key() || a.EventID != first.ID || a.Type != first.Type || a.Version != 1 ||
						a.Sequence != 1 || a.Number != i+1 || a.Duration != 100*time.Millisecond || a.Probe {
						t.Errorf("attempt %d: %+v", i, a)
					}
				}
				for i, a := range all[:2] {
					if a.Outcome != pipeline.OutcomeFailed || a.Status != 500 || a.Reason != "500" || len(a.Answer) != 1024 || !a.Next.Equal(all[i+1].At) {
						t.Errorf("attempt %d: %+v, and the next one at %v", i, a, all[i+1].At)
					}
				}
				for i, a := range all[2:] {
					if a.Outcome != pipeline.OutcomeDelivered || a.Version != uint64(i+1) || a.Status != 0 || a.Reason != "" || a.Answer != nil || !a.Next.IsZero() {
						t.Errorf("%+v", a)
					}
				}
			})
		})
	}
}

// The last attempt is told as such, whatever becomes of the order.
func TestLastAttemptIsTold(t *testing.T) {
	for name, hold := range map[string]bool{"goes on": false, "stays parked": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				s.add(t, versions(1, 1)...)
				cfg := parking(s, &receiver{answer: func(schema.Entry, int) error { return refusal{} }})
				cfg.Schedule, cfg.HoldExhausted = []time.Duration{time.Second, time.Second}, hold
				all := taped(t, cfg, time.Hour)
				if len(all) != 3 || all[1].Outcome != pipeline.OutcomeFailed || all[2].Outcome != pipeline.OutcomeGivenUp || all[2].Number != 3 ||
					!all[2].Next.IsZero() || all[2].EventID == "" || len(s.dead) != 1 {
					t.Errorf("%+v, %d dead letters", all, len(s.dead))
				}
			})
		})
	}
}

// Nothing is planned for a receiver that wants no more.
func TestGoneIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, versions(1, 1)...)
		all := taped(t, parking(s, &receiver{answer: func(schema.Entry, int) error { return answered{status: 410} }}), time.Hour)
		if len(all) != 1 || all[0].Status != 410 || all[0].Outcome != pipeline.OutcomeFailed || !all[0].Next.IsZero() {
			t.Errorf("%+v", all)
		}
	})
}

// While an endpoint is paused, the next attempt is the next probe.
func TestProbesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, versions(20, 1)...)
		var down atomic.Bool
		down.Store(true)
		cfg := parking(s, &receiver{answer: func(schema.Entry, int) error {
			if down.Load() {
				return refusal{}
			}
			return nil
		}})
		cfg.Concurrency, cfg.BreakAfter = 1, 5
		all := taped(t, cfg, 24*time.Hour)
		if len(all) < 50 {
			t.Fatalf("%d attempts", len(all))
		}
		for i, a := range all {
			if a.Outcome != pipeline.OutcomeFailed || a.Probe != (i >= 5) {
				t.Errorf("attempt %d: %+v", i, a)
			}
			if i == 4 && a.Next.Before(all[5].At) {
				t.Errorf("it opens the breaker, and the first probe at %v is later than %v", all[5].At, a.Next)
			}
			if i >= 5 && i+1 < len(all) && !a.Next.Equal(all[i+1].At) {
				t.Errorf("probe %d: the next one at %v, not at %v", i, all[i+1].At, a.Next)
			}
		}
		down.Store(false)
		if again := taped(t, cfg, time.Hour); len(again) != 20 || !again[0].Probe || again[1].Probe {
			t.Errorf("%d attempts: %+v", len(again), again)
		}
	})
}

// What the end of the process cuts off is no attempt.
func TestCutOffAttemptsAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, events(3)...)
		cfg := parking(s, &hanging{})
		cfg.Concurrency = 1
		if all := taped(t, cfg, time.Minute); len(all) != 1 || all[0].Outcome != pipeline.OutcomeDelivered {
			t.Errorf("%+v", all)
		}
	})
}

// odd wants the events of every other order.
func odd(e *schema.Event) bool { return e.Data.Order.OrderSn.String()[len("SN-00000")]%2 == 1 }

// Events that the endpoint does not want cost neither a slot nor the rate, and
// nothing waits for them.
func TestUnwantedEventsCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newShelf(), &receiver{}
		s.add(t, versions(10, 1)...)
		for range 50 {
			s.add(t, versions(1, 1)...)
		}
		cfg := parking(s, r)
		cfg.RateLimit, cfg.Wants = 1, odd
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		wait(4*time.Second + 500*time.Millisecond)
		if got := len(r.all()); got != 5 || c.Progress().Position != 60 {
			t.Errorf("%d deliveries, %+v", got, c.Progress())
		}
		stop()
		if len(r.tries) != 5 || r.tries[1] != 0 {
			t.Errorf("tried: %v", r.tries)
		}
	})
}

// They are no sign that the endpoint takes deliveries.
func TestUnwantedEventsAreNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, versions(10, 1)...)
		cfg := parking(s, &receiver{answer: func(schema.Entry, int) error { return refusal{} }})
		cfg.BreakAfter, cfg.Wants, cfg.Concurrency = 5, odd, 1
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		wait(time.Second)
		if p := c.Progress(); !p.Delivery.Broken {
			t.Errorf("%+v", p)
		}
		stop()
	})
}

// What a parked order is owed is only what the endpoint wants, also when it was
// parked under other filters, and when events of it have aged out of the log.
func TestParkedOrdersPassOverUnwantedEvents(t *testing.T) {
	even := func(e *schema.Event) bool { return e.Data.Version%2 == 0 }
	late := func(e *schema.Event) bool { return e.Data.Version > 3 }
	for _, tt := range []struct {
		name   string
		before func(*schema.Event) bool // when the order is parked
		after  func(*schema.Event) bool // when it goes on
		want   []string
	}{
		{"the same filter", even, even, []string{"SN-000000/2", "SN-000000/4", "SN-000000/6"}},
		{"a new filter", nil, even, []string{"SN-000000/2", "SN-000000/4", "SN-000000/6"}},
		{"what is parked is unwanted now", nil, late, []string{"SN-000000/4", "SN-000000/5", "SN-000000/6"}},
		{"nothing is wanted now", nil, func(*schema.Event) bool { return false }, nil},
	} {
		for _, unordered := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShelf()
					var up atomic.Bool
					r := &receiver{answer: func(schema.Entry, int) error {
						if up.Load() {
							return nil
						}
						return refusal{}
					}}
					s.add(t, versions(1, 6)...)
					cfg := parking(s, r)
					cfg.Wants, cfg.Unordered = tt.before, unordered
					cfg.Retention = pipeline.Retention{
						First: func(context.Context) (uint64, error) { return max(s.oldest.Load(), 1), nil },
						Hint:  func(_, _ uint64) string { return "" },
					}
					stop := running(t, pipeline.NewCourier(cfg).Run)
					wait(time.Second)
					stop()
					up.Store(true)
					cfg.Wants = tt.after
					c := pipeline.NewCourier(cfg)
					stop = running(t, c.Run)
					wait(time.Hour)
					stop()
					got := r.all()
					if unordered {
						slices.Sort(got)
					}
					if p := c.Progress(); !slices.Equal(got, tt.want) || p.Position != 6 || len(s.stored(t)) != 0 || p.Delivery.Waiting != 0 {
						t.Errorf("came %v, %+v, parked %+v", got, p, s.stored(t))
					}
				})
			})
		}
	}
}
