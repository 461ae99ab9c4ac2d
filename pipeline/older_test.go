package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// shelves keep events that a log has lost.
type shelves struct {
	all  []schema.Event // sequence 1 and on
	from uint64         // what is before it is missing; 0: nothing is
	fail error          // of the next reading, behind its first event
	each func(sequence uint64)

	mu    sync.Mutex
	asked []string
}

func (s *shelves) older(_ context.Context, from, until uint64) iter.Seq2[schema.Entry, error] {
	return func(yield func(schema.Entry, error) bool) {
		s.mu.Lock()
		s.asked = append(s.asked, fmt.Sprintf("%d-%d", from, until))
		fail := s.fail
		s.fail = nil
		s.mu.Unlock()
		if from < s.from || until > uint64(len(s.all)) {
			yield(schema.Entry{}, fmt.Errorf("events %d to %d: %w", from, until, pipeline.ErrGone))
			return
		}
		for e, err := range entriesOf(from, nil, s.all[from-1:until]...) {
			if !yield(e, err) {
				return
			}
			if s.each != nil {
				s.each(e.Sequence)
			}
			if fail != nil {
				synctest.Wait() // until that one is delivered
				yield(schema.Entry{}, fail)
				return
			}
		}
	}
}

// What an endpoint has missed comes from the archive as far as the log has lost
// it, each event once and in its order's order, and then from the log.
func TestCourierCatchesUpFromTheArchive(t *testing.T) {
	tests := []struct {
		name     string
		cursor   pipeline.Cursor
		first    uint64 // of the log, which ends at 60
		skip     uint64
		archived uint64 // first of the archive
		asked    []string
		want     string // of the failure
		then     []uint64
	}{
		{"some are in the archive", pipeline.Cursor{Floor: 3}, 41, 0, 0, []string{"4-40"}, "", span(4, 60)},
		{"all are", pipeline.Cursor{Floor: 3}, 61, 0, 0, []string{"4-60"}, "", span(4, 60)},
		{"none has to be", pipeline.Cursor{Floor: 3}, 4, 0, 0, nil, "", span(4, 60)},
		{"some were delivered", pipeline.Cursor{Floor: 3, Done: []uint64{4, 5, 9, 39, 40, 50}}, 41, 0, 0, []string{"6-38"}, "",
			slices.Concat(span(6, 8), span(10, 38), span(41, 49), span(51, 60))},
		{"all were delivered", pipeline.Cursor{Floor: 3, Done: []uint64{4, 5}}, 6, 0, 0, nil, "", span(6, 60)},
		{"some may be passed over", pipeline.Cursor{Floor: 3}, 41, 30, 0, []string{"31-40"}, "", span(31, 60)},
		{"the archive lacks some", pipeline.Cursor{Floor: 3}, 41, 0, 6, []string{"4-40"}, "events 4 to 40 have aged out of the log before endpoint partner", nil},
		{"a new endpoint", pipeline.Cursor{}, 41, 0, 0, nil, "", span(41, 60)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := versions(20, 3)
				log, old, got := &trimmed{memoryLog: newMemoryLog()}, &shelves{all: all, from: tt.archived}, &receiver{}
				log.add(t, all...)
				log.trim(tt.first)
				if err := log.SaveCursor(t.Context(), "endpoint.partner", tt.cursor); err != nil {
					t.Fatal(err)
				}
				cfg := pipeline.CourierConfig{
					Name: "partner", Deliverer: got, Follow: log.follow, Bury: log.bury, Cursors: log, Concurrency: 4, Window: 10, Older: old.older,
					Retention: log.retention(pipeline.Retention{Fresh: true, Skip: tt.skip}),
				}
				c := pipeline.NewCourier(cfg)
				stop := running(t, c.Run)
				err := c.Drain(t.Context(), 60)
				if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("drain: %v", err)
				}
				if p := c.Progress(); tt.want == "" && (p.Failure != "" || p.Position != 60) || !strings.Contains(p.Failure, tt.want) {
					t.Errorf("%+v", p)
				}
				stop()
				if seqs := slices.Sorted(maps.Keys(got.tries)); !slices.Equal(seqs, tt.then) || len(got.all()) != len(tt.then) {
					t.Errorf("delivered: %v", seqs)
				}
				if len(old.asked) > 0 && tt.want != "" {
					old.asked = old.asked[:1] // and again and again
				}
				if !slices.Equal(old.asked, tt.asked) {
					t.Errorf("asked for %v", old.asked)
				}
			})
		})
	}
}

func span(from, until uint64) (all []uint64) {
	for ; from <= until; from++ {
		all = append(all, from)
	}
	return all
}

// The log loses more while the archive is read, and while the endpoint follows it.
func TestCourierCatchesUpWhileTheLogShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := versions(20, 4)
		log, got := &trimmed{memoryLog: newMemoryLog()}, &receiver{}
		old := &shelves{all: all, fail: errors.New("the disk is away"), each: func(sequence uint64) {
			if sequence == 9 {
				log.trim(31)
			}
		}}
		log.add(t, all[:60]...)
		log.trim(11)
		if err := log.SaveCursor(t.Context(), "endpoint.partner", pipeline.Cursor{Floor: 3, Done: []uint64{8}}); err != nil {
			t.Fatal(err)
		}
		got.answer = func(e schema.Entry, attempt int) error {
			if e.Sequence == 5 && attempt == 1 {
				return refusal{}
			}
			return nil
		}
		c := pipeline.NewCourier(pipeline.CourierConfig{
			Name: "partner", Deliverer: got, Follow: log.follow, Bury: log.bury, Cursors: log, Concurrency: 4, Window: 10, Older: old.older,
			Schedule: []time.Duration{time.Second}, Retention: log.retention(pipeline.Retention{Fresh: true}),
		})
		stop := running(t, c.Run)
		wait(time.Minute)
		if p := c.Progress(); p.Position != 60 || p.Failure != "" {
			t.Errorf("%+v", p)
		}
		log.mu.Lock() // 61 to 70 come and go while the reader looks away
		log.msgs = append(log.msgs, make([]*message.Message, 10)...)
		log.mu.Unlock()
		log.oldest.Store(71)
		log.add(t, all[70:]...)
		wait(time.Minute)
		if p := c.Progress(); p.Position != 80 || p.Failure != "" {
			t.Errorf("%+v", p)
		}
		stop()
		if want := []string{"4-10", "5-10", "11-30", "61-70"}; !slices.Equal(old.asked, want) {
			t.Errorf("asked for %v, want %v", old.asked, want)
		}
		last := make(map[string]string)
		for _, name := range got.all() {
			order, version, _ := strings.Cut(name, "/")
			if version <= last[order] {
				t.Errorf("%s comes behind version %s", name, last[order])
			}
			last[order] = version
		}
		if len(got.tries) != 76 {
			t.Errorf("%d events came", len(got.tries))
		}
	})
}

// A stop in the middle ends the reading, and what follows comes after the next
// start.
func TestCourierIsStoppedWhileItCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := versions(20, 3)
		log, old, got := &trimmed{memoryLog: newMemoryLog()}, &shelves{all: all}, &receiver{}
		log.add(t, all...)
		log.trim(51)
		if err := log.SaveCursor(t.Context(), "endpoint.partner", pipeline.Cursor{Floor: 1}); err != nil {
			t.Fatal(err)
		}
		cfg := pipeline.CourierConfig{
			Name: "partner", Deliverer: got, Follow: log.follow, Bury: log.bury, Cursors: log, Window: 5, RateLimit: 1, Older: old.older,
			Retention: log.retention(pipeline.Retention{Fresh: true}),
		}
		for range 5 {
			stop := running(t, pipeline.NewCourier(cfg).Run)
			wait(4*time.Second + 500*time.Millisecond)
			stop()
		}
		if n := len(got.all()); n < 20 || n > 30 || len(got.tries) != n {
			t.Errorf("%d deliveries of %d events", n, len(got.tries))
		}
		cfg.RateLimit = 0
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(time.Second)
		stop()
		inOrder(t, append([]string{name(schema.Entry{Event: all[0]})}, got.all()...), 20, 3)
	})
}

// A parked order that is owed nothing more is known to be, also when what came
// behind its last event has aged out of the log.
func TestParkedOrderIsOwedNothingThatAgedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, got := newShelf(), &receiver{}
		all := versions(2, 3)
		s.add(t, all...)
		s.oldest.Store(7)
		p := pipeline.Parked{Key: all[0].Key(), First: 2, Version: 2, Since: time.Now(), Next: time.Now()}
		if err := errors.Join(s.SaveParked(t.Context(), "partner", []pipeline.Parked{p}, nil),
			s.SaveCursor(t.Context(), "endpoint.partner", pipeline.Cursor{Floor: 6})); err != nil {
			t.Fatal(err)
		}
		cfg := parking(s, got)
		cfg.Retention = pipeline.Retention{First: func(context.Context) (uint64, error) { return 7, nil }}
		cfg.Archive = func(context.Context, schema.OrderKey, uint64) (schema.Entry, bool, error) {
			return schema.Entry{}, false, nil
		}
		stop := running(t, pipeline.NewCourier(cfg).Run)
		wait(time.Minute)
		stop()
		if left := s.stored(t); len(left) > 0 || len(got.tries) > 0 {
			t.Errorf("left %+v, %d came", left, len(got.tries))
		}
	})
}
