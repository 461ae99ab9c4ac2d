package pipeline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// A drain does not wait for retries at an endpoint that always wants less, however
// short the pauses between them are.
func TestDrainOfAnEndpointThatWantsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		r := &receiver{answer: func(schema.Entry, int) error { return answered{status: 503} }}
		cfg := parking(s, r)
		cfg.Schedule = make([]time.Duration, 10_000)
		for i := range cfg.Schedule {
			cfg.Schedule[i] = 10 * time.Millisecond
		}
		s.add(t, versions(20, 2)...)
		c := pipeline.NewCourier(cfg)
		stop := running(t, c.Run)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Drain(ctx, 40); err != nil {
			t.Error(err)
		}
		stop()
		if parked := s.stored(t); len(parked) != 20 {
			t.Errorf("%d orders are parked", len(parked))
		}
	})
}
