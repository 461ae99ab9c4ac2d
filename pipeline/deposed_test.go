package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

var errDeposed = errors.New("the lease is lost")

// A runner whose context ends with a cause of its own flushes nothing: another
// process may be writing already.
func TestRunnerDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, sink := newMemoryLog(), &memorySink{}
		r := pipeline.NewRunner(pipeline.RunnerConfig{Name: "t", Sink: sink, Follow: log.follow, Bury: log.bury, FlushEvery: time.Minute})
		depose := deposable(t, r.Run)
		log.add(t, events(3)...)
		synctest.Wait()
		depose()
		if n, durable := sink.state(); n != 0 || len(durable) != 0 {
			t.Errorf("%d flushes, %v", n, durable)
		}
	})
}

// hanging is a receiver that takes one event and hangs at the next.
type hanging struct{ taken int }

func (h *hanging) Deliver(ctx context.Context, _ *schema.Entry) error {
	if h.taken++; h.taken == 1 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// A courier in the same place cuts its attempts short and leaves the cursor to
// the process that has it now.
func TestCourierDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemoryLog()
		log.add(t, events(1)...)
		depose := deposable(t, pipeline.NewCourier(pipeline.CourierConfig{
			Name: "partner", Deliverer: &hanging{}, Follow: log.follow, Bury: log.bury, Cursors: log, Concurrency: 1,
		}).Run)
		time.Sleep(time.Second) //nolint:forbidigo // fake time of synctest
		synctest.Wait()
		var before, after pipeline.Cursor
		if found, err := log.LoadCursor(t.Context(), "endpoint.partner", &before); !found || err != nil || before.Floor != 1 {
			t.Fatalf("%v, %v, %+v", found, err, before)
		}
		log.add(t, events(2)[1:]...)
		synctest.Wait()
		log.mu.Lock()
		clear(log.cursor) // what is there afterwards was saved afterwards
		log.mu.Unlock()
		begun := time.Now()
		depose()
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("it went on for %v", waited)
		}
		if found, _ := log.LoadCursor(t.Context(), "endpoint.partner", &after); found {
			t.Errorf("the cursor was saved: %+v", after)
		}
	})
}

// Nothing that came of deliveries just before is saved either.
func TestCourierDeposedSavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.add(t, events(5)...)
		depose := deposable(t, pipeline.NewCourier(parking(s, &receiver{})).Run)
		synctest.Wait() // all are delivered, and no time has passed
		depose()
		if len(s.cursor) > 0 || s.saves > 0 {
			t.Errorf("saved: %d documents, %d times parked orders", len(s.cursor), s.saves)
		}
	})
}

// deposable starts Run and returns a function that ends it as a lost lease does.
func deposable(tb testing.TB, run func(context.Context) error) (depose func()) {
	tb.Helper()
	ctx, cancel := context.WithCancelCause(tb.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() {
		cancel(errDeposed)
		if err := <-done; err != nil {
			tb.Errorf("Run: %v", err)
		}
	}
}
