package pipeline_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// An endpoint that has little to do is paused, too, when nothing succeeds for
// minutes: otherwise its events would go to the dead letters while it is down.
func TestBreakerOfQuietEndpoint(t *testing.T) {
	for orders, dead := range map[int]int{4: 4, 6: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf()
			r := &receiver{answer: func(schema.Entry, int) error { return refusal{} }}
			c := pipeline.NewCourier(parking(s, r))
			s.add(t, versions(orders, 1)...)
			stop := running(t, c.Run)
			wait(10 * 24 * time.Hour)
			if broken := c.Progress().Delivery.Broken; broken != (dead == 0) || len(s.dead) != dead {
				t.Errorf("%d orders: broken %v, %d dead letters", orders, broken, len(s.dead))
			}
			stop()
		})
	}
}
