package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// instant takes everything.
type instant struct{}

func (instant) Deliver(context.Context, *schema.Entry) error { return nil }

// BenchmarkCourier is what the courier itself takes of an event, with one event
// of an order and with a hundred of them one behind the other. Reading it from
// its JSON is most of that.
func BenchmarkCourier(b *testing.B) {
	for _, each := range []int{1, 100} {
		b.Run(fmt.Sprintf("events=%d", each), func(b *testing.B) {
			payloads := eventsFor(b, each)
			b.ReportAllocs()
			b.ResetTimer()
			deliverAll(b, payloads, b.N, pipeline.CourierConfig{Deliverer: instant{}})
		})
	}
}

// eventsFor makes 2,000 events, so many of each order.
func eventsFor(b *testing.B, each int) [][]byte {
	b.Helper()
	payloads := make([][]byte, 2000)
	for i := range payloads {
		raw, err := json.Marshal(pipelinetest.Event("main", i/each, uint64(i%each+1)))
		if err != nil {
			b.Fatal(err)
		}
		payloads[i] = raw
	}
	return payloads
}

// deliverAll runs a courier over n events: the payloads, again and again.
func deliverAll(b *testing.B, payloads [][]byte, n int, cfg pipeline.CourierConfig) {
	b.Helper()
	log := newMemoryLog()
	cfg.Follow = func(ctx context.Context, _ uint64) (<-chan *message.Message, error) {
		out := make(chan *message.Message, 2048)
		go func() {
			for i := range n {
				m := &message.Message{Payload: payloads[i%len(payloads)], Metadata: message.Metadata{
					pipeline.MetaSequence: strconv.Itoa(i + 1), pipeline.MetaStored: "1790000000000000000",
				}}
				select {
				case out <- m:
				case <-ctx.Done():
					return
				}
			}
		}()
		return out, nil
	}
	cfg.Name, cfg.Bury, cfg.Cursors, cfg.Concurrency = "t", log.bury, log, 64
	c := pipeline.NewCourier(cfg)
	stop := running(b, c.Run)
	if err := c.Drain(b.Context(), uint64(n)); err != nil {
		b.Fatal(err)
	}
	stop()
}

// BenchmarkReadEntry is the reading alone.
func BenchmarkReadEntry(b *testing.B) {
	raw, err := json.Marshal(pipelinetest.Event("main", 1, 1))
	if err != nil {
		b.Fatal(err)
	}
	m := &message.Message{Payload: raw, Metadata: message.Metadata{pipeline.MetaSequence: "7", pipeline.MetaStored: "1790000000000000000"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pipeline.ReadEntry(m); err != nil {
			b.Fatal(err)
		}
	}
}
