package jetstream_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Two processes share a durable. The line of the one that reads goes dead, with
// messages in work and on the way. The other takes over within ten seconds, with
// the oldest unacknowledged message and in order; by then the first has been told.
// When its line is back, what it says late does no harm.
func TestPinnedTakeover(t *testing.T) {
	t.Parallel()
	for _, ackAll := range []bool{false, true} {
		name := "explicit"
		if ackAll {
			name = "ack all"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTakeover(t, jetstream.SubscriberConfig{Durable: "service", Pinned: true, AckAll: ackAll, Window: 64})
		})
	}
}

func testTakeover(t *testing.T, cfg jetstream.SubscriberConfig) {
	t.Helper()
	server := pipelinetest.Server(t, t.TempDir())
	l := pipelinetest.Log(t, server.URL())
	const orders, versions = 10, 30
	publishVersions(t, l, orders, 1, versions)
	way := newCable(t, server)
	first, _ := subscribe(t, openLog(t, jetstream.Config{URL: way.url, ReadOnly: true}), cfg, pipeline.Topic)
	var held []*message.Message
	for want := uint64(1); want <= 100; want++ {
		m := receive(t, first)
		if got := sequence(t, m); got != want {
			t.Fatalf("the first reader: sequence %d, want %d", got, want)
		}
		if want <= 60 {
			m.Ack()
		} else {
			held = append(held, m)
		}
	}
	awaitFloor(t, l, 60)
	second, _ := subscribe(t, l, cfg, pipeline.Topic)

	cut := time.Now()
	way.freeze()
	m := receive(t, second)
	t.Logf("taken over after %v", time.Since(cut))
	if d := time.Since(cut); d > 10*time.Second {
		t.Errorf("taken over after %v", d)
	}
	for i, h := range held {
		if h.Context().Err() == nil {
			t.Fatalf("the first reader works on message %d of those that it held", i)
		}
	}
	last := make(map[string]uint64) // version by order
	for want := uint64(61); ; want++ {
		e := entry(t, m)
		if e.Sequence != want {
			t.Fatalf("the second reader: sequence %d, want %d", e.Sequence, want)
		}
		if v := last[e.Event.Subject]; v != 0 && e.Event.Data.Version != v+1 {
			t.Fatalf("order %s: version %d after %d", e.Event.Subject, e.Event.Data.Version, v)
		}
		last[e.Event.Subject] = e.Event.Data.Version
		m.Ack()
		if want == orders*versions {
			break
		}
		if want == 200 {
			way.thaw()
			for _, h := range held {
				h.Ack() // too late
			}
		}
		m = receive(t, second)
	}
	awaitFloor(t, l, orders*versions)
	publishVersions(t, l, orders, versions+1, versions+1)
	if got := sequence(t, receive(t, second)); got != orders*versions+1 {
		t.Errorf("then comes %d", got)
	}
}

// publishVersions stores versions of orders, all orders of a version together.
func publishVersions(tb testing.TB, l *jetstream.Log, orders, from, to int) {
	tb.Helper()
	for v := from; v <= to; v++ {
		var msgs []*message.Message
		for n := range orders {
			var expected uint64
			if v > 1 {
				expected = uint64((v-2)*orders + n + 1)
			}
			msgs = append(msgs, newMessage(tb, n, uint64(v), expected))
		}
		mustPublish(tb, l, msgs...)
	}
}

// A reader that ends in good order makes way at once.
func TestPinnedReaderMakesWay(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 10)...)
	cfg := jetstream.SubscriberConfig{Durable: "service", Pinned: true, AckAll: true, Takeover: time.Hour}
	in, s := subscribe(t, l, cfg, pipeline.Topic)
	for range 5 {
		receive(t, in).Ack()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	in, _ = subscribe(t, l, cfg, pipeline.Topic)
	if got := sequence(t, receive(t, in)); got != 6 {
		t.Errorf("the next reader begins with %d, want 6", got)
	}
}
