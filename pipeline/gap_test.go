package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// trimmed makes a log forget what is before a sequence, as far as its readers
// see.
type trimmed struct {
	*memoryLog
	oldest atomic.Uint64
}

func (l *trimmed) first(context.Context) (uint64, error) { return max(l.oldest.Load(), 1), nil }

func (l *trimmed) trim(first uint64) {
	l.oldest.Store(first)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range min(int(first)-1, len(l.msgs)) {
		l.msgs[i] = nil
	}
}

func (l *trimmed) retention(c pipeline.Retention) pipeline.Retention {
	c.First, c.Hint = l.first, func(from, until uint64) string { return fmt.Sprintf("do something about %d-%d", from, until) }
	return c
}

func TestRunnerStandsStillAtAGap(t *testing.T) {
	tests := []struct {
		name      string
		durable   int // sink's position
		first     uint64
		retention pipeline.Retention
		want      string // of the failure, "" for none
		then      []uint64
	}{
		{"nothing is missing", 4, 5, pipeline.Retention{}, "", []uint64{5, 6, 7, 8, 9}},
		{"events are missing", 4, 7, pipeline.Retention{}, "events 5 to 6 have aged out of the log before sink t took them; do something about 5-6", nil},
		{"all are missing", 4, 10, pipeline.Retention{}, "events 5 to 9 have", nil},
		{"a new sink", 0, 3, pipeline.Retention{}, "events 1 to 2 have", nil},
		{"a new sink that may begin anywhere", 0, 3, pipeline.Retention{Fresh: true}, "", []uint64{3, 4, 5, 6, 7, 8, 9}},
		{"one that may begin anywhere has begun", 1, 3, pipeline.Retention{Fresh: true}, "events 2 to 2 have", nil},
		{"they may be passed over", 4, 7, pipeline.Retention{Skip: 6}, "", []uint64{7, 8, 9}},
		{"some may be passed over", 4, 8, pipeline.Retention{Skip: 6}, "events 7 to 7 have", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &trimmed{memoryLog: newMemoryLog()}
				log.add(t, events(9)...)
				log.trim(tt.first)
				sink := &memorySink{durable: upTo(tt.durable)}
				r := pipeline.NewRunner(pipeline.RunnerConfig{
					Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, Retention: log.retention(tt.retention),
				})
				stop := running(t, r.Run)
				err := r.Drain(t.Context(), 9)
				var gap *pipeline.GapError
				if errors.As(err, &gap) != (tt.want != "") || tt.want != "" && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("drain: %v", err)
				}
				if p := r.Progress(); !strings.Contains(p.Failure, tt.want) || tt.want == "" && p.Failure != "" {
					t.Errorf("%+v", p)
				}
				stop()
				if got := sink.durable[tt.durable:]; !slices.Equal(got, tt.then) {
					t.Errorf("durable behind: %v", got)
				}
			})
		})
	}
}

// What a sink holds when the log loses what follows is made durable: it is
// in the log no more either.
func TestRunnerKeepsWhatCameBeforeAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := &trimmed{memoryLog: newMemoryLog()}, &memorySink{}
		log.add(t, events(3)...)
		r := pipeline.NewRunner(pipeline.RunnerConfig{
			Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, FlushEvery: 24 * time.Hour,
			Retention: log.retention(pipeline.Retention{}),
		})
		stop := running(t, r.Run)
		synctest.Wait()
		log.mu.Lock() // 4 and 5 come and go while the reader looks away
		log.msgs = append(log.msgs, nil, nil)
		log.mu.Unlock()
		log.oldest.Store(6)
		log.add(t, pipelinetest.Event("main", 6, 1))
		synctest.Wait()
		if _, durable := sink.state(); !slices.Equal(durable, upTo(3)) {
			t.Errorf("durable %v", durable)
		}
		if p := r.Progress(); !strings.Contains(p.Failure, "events 4 to 5 have aged out") {
			t.Errorf("%+v", p)
		}
		stop()
	})
}

func TestCourierStandsStillAtAGap(t *testing.T) {
	tests := []struct {
		name   string
		cursor *pipeline.Cursor
		first  uint64
		skip   uint64
		want   string
		then   []uint64
	}{
		{"no cursor", nil, 4, 0, "", []uint64{4, 5, 6, 7, 8, 9}},
		{"events are missing", &pipeline.Cursor{Floor: 2}, 5, 0, "events 3 to 4 have aged out of the log before endpoint t took them", nil},
		{"some were delivered", &pipeline.Cursor{Floor: 2, Done: []uint64{3, 5, 7}}, 7, 0, "events 4 to 6 have", nil},
		{"all were delivered", &pipeline.Cursor{Floor: 2, Done: []uint64{3, 4, 7}}, 5, 0, "", []uint64{5, 6, 8, 9}},
		{"they may be passed over", &pipeline.Cursor{Floor: 2, Done: []uint64{6}}, 5, 4, "", []uint64{5, 7, 8, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, got := &trimmed{memoryLog: newMemoryLog()}, &receiver{}
				log.add(t, events(9)...)
				log.trim(tt.first)
				if tt.cursor != nil {
					if err := log.SaveCursor(t.Context(), "endpoint.t", tt.cursor); err != nil {
						t.Fatal(err)
					}
				}
				c := pipeline.NewCourier(pipeline.CourierConfig{
					Name: "t", Deliverer: got, Follow: log.follow, Bury: log.bury, Cursors: log,
					Retention: log.retention(pipeline.Retention{Fresh: true, Skip: tt.skip}),
				})
				stop := running(t, c.Run)
				err := c.Drain(t.Context(), 9)
				if (err != nil) != (tt.want != "") || tt.want != "" && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("drain: %v", err)
				}
				if p := c.Progress(); !strings.Contains(p.Failure, tt.want) || tt.want == "" && (p.Failure != "" || p.Position != 9) {
					t.Errorf("%+v", p)
				}
				stop()
				if seqs := slices.Sorted(maps.Keys(got.tries)); !slices.Equal(seqs, tt.then) {
					t.Errorf("delivered: %v", seqs)
				}
			})
		})
	}
}

// The log loses what follows while the endpoint is at work.
func TestCourierNoticesAGapOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, got := &trimmed{memoryLog: newMemoryLog()}, &receiver{}
		log.add(t, events(3)...)
		c := pipeline.NewCourier(pipeline.CourierConfig{
			Name: "t", Deliverer: got, Follow: log.follow, Bury: log.bury, Cursors: log,
			Retention: log.retention(pipeline.Retention{Fresh: true}),
		})
		stop := running(t, c.Run)
		synctest.Wait()
		log.mu.Lock() // 4 and 5 come and go while the reader looks away
		log.msgs = append(log.msgs, nil, nil)
		log.mu.Unlock()
		log.oldest.Store(6)
		log.add(t, pipelinetest.Event("main", 6, 1))
		synctest.Wait()
		if p := c.Progress(); !strings.Contains(p.Failure, "events 4 to 5 have aged out") || p.Position != 3 {
			t.Errorf("%+v", p)
		}
		stop()
		if seqs := slices.Sorted(maps.Keys(got.tries)); !slices.Equal(seqs, upTo(3)) {
			t.Errorf("delivered: %v", seqs)
		}
	})
}
