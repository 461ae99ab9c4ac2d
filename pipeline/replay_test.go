package pipeline_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// entriesOf gives events sequences from one on, and then an error if there is
// one.
func entriesOf(first uint64, then error, all ...schema.Event) iter.Seq2[schema.Entry, error] {
	return func(yield func(schema.Entry, error) bool) {
		for i, e := range all {
			if !yield(schema.Entry{Sequence: first + uint64(i), Event: e}, nil) {
				return
			}
		}
		if then != nil {
			yield(schema.Entry{}, then)
		}
	}
}

func replay(d pipeline.Deliverer) *pipeline.Replay {
	return pipeline.NewReplay(pipeline.ReplayConfig{
		Name: "t", Deliverer: d, From: 11, Concurrency: 4, Window: 5, Schedule: []time.Duration{time.Second, time.Minute},
	})
}

func TestReplayDeliversAllInOrderForEachOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []schema.Event
		for v := uint64(1); v <= 3; v++ {
			for n := range 20 {
				all = append(all, pipelinetest.Event("main", n, v))
			}
		}
		got := &receiver{answer: func(e schema.Entry, attempt int) error {
			if e.Sequence%7 == 0 && attempt <= 2 {
				return refusal{}
			}
			return nil
		}}
		r := replay(got)
		if err := r.Run(t.Context(), entriesOf(11, nil, all...)); err != nil {
			t.Fatal(err)
		}
		if p := r.Progress(); p.Position != 70 || p.Written != 60 {
			t.Errorf("%+v", p)
		}
		versions := make(map[string]uint64)
		for _, name := range got.all() {
			order, version := name[:len(name)-2], uint64(name[len(name)-1]-'0')
			if versions[order]++; versions[order] != version {
				t.Errorf("%s comes as number %d", name, versions[order])
			}
		}
		if len(got.all()) != 60 {
			t.Errorf("%d deliveries", len(got.all()))
		}
	})
}

func TestReplayGivesUp(t *testing.T) {
	for name, permanent := range map[string]bool{"after the last attempt": false, "at once": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := &receiver{answer: func(e schema.Entry, _ int) error {
					if e.Sequence == 13 {
						return refusal{permanent}
					}
					return nil
				}}
				r := replay(got)
				err := r.Run(t.Context(), entriesOf(11, nil, events(30)...))
				var failed *pipeline.UndeliveredError
				attempts := map[bool]int{false: 3, true: 1}[permanent]
				if !errors.As(err, &failed) || failed.Sequence != 13 || failed.Attempts != attempts || got.tries[13] != attempts {
					t.Errorf("error %v after %d attempts", err, got.tries[13])
				}
				p := r.Progress()
				for sequence := uint64(11); sequence <= p.Position; sequence++ {
					if got.tries[sequence] == 0 {
						t.Errorf("%d counts as settled", sequence)
					}
				}
				if p.Position > 12 || !permanent && p.Position != 12 {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// A replay has no endpoint to disable: it ends at a receiver that is gone.
func TestReplayEndsAtAReceiverThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &receiver{answer: func(schema.Entry, int) error { return answered{status: 410} }}
		err := replay(got).Run(t.Context(), entriesOf(11, nil, events(3)...))
		var failed *pipeline.UndeliveredError
		if !errors.As(err, &failed) || failed.Attempts != 1 {
			t.Errorf("error %v", err)
		}
	})
}

func TestReplayEndsWithItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		damaged := errors.New("damaged")
		r := replay(&receiver{})
		if err := r.Run(t.Context(), entriesOf(11, damaged, events(3)...)); !errors.Is(err, damaged) {
			t.Errorf("error %v", err)
		}
		if err := replay(&receiver{}).Run(t.Context(), entriesOf(9, nil, events(3)...)); err == nil {
			t.Error("a sequence before the range is taken")
		}
		if err := replay(&receiver{}).Run(t.Context(), entriesOf(11, nil)); err != nil {
			t.Errorf("nothing to do: %v", err)
		}
	})
}

// What is settled does not come again when an interrupted replay goes on where
// it got to, and all else does.
func TestReplayIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		got := &receiver{answer: func(e schema.Entry, _ int) error {
			if e.Sequence == 20 {
				cancel()
			}
			return nil
		}}
		r := replay(got)
		if err := r.Run(ctx, entriesOf(11, nil, events(500)...)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		resumed := pipeline.NewReplay(pipeline.ReplayConfig{Name: "t", Deliverer: got, From: r.Progress().Position + 1})
		rest := events(500)[r.Progress().Position-10:]
		if err := resumed.Run(t.Context(), entriesOf(r.Progress().Position+1, nil, rest...)); err != nil {
			t.Fatal(err)
		}
		for sequence, n := range got.tries {
			if n > 1 && sequence <= r.Progress().Position {
				t.Errorf("%d was settled and came %d times", sequence, n)
			}
		}
		if len(got.tries) != 500 {
			t.Errorf("%d events came", len(got.tries))
		}
	})
}
