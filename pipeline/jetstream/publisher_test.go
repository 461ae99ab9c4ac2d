package jetstream_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// refusals holds the publisher to what it says of batches that do not fit a log
// whose first orders stand at version 1, order n at sequence n+1.
func refusals(t *testing.T, l *jetstream.Log, last uint64) {
	t.Helper()
	stale := map[string]struct {
		msgs []*message.Message
		want []schema.OrderKey
	}{
		"one of many is outdated":             {[]*message.Message{newMessage(t, 3000, 1, 0), newMessage(t, 3, 2, 0), newMessage(t, 4, 2, 5)}, []schema.OrderKey{key(3)}},
		"a message alone":                     {[]*message.Message{newMessage(t, 3, 2, 3)}, []schema.OrderKey{key(3)}},
		"another event of the same version":   {[]*message.Message{other(t, 3, 1, 0)}, []schema.OrderKey{key(3)}},
		"others, beside one that is in there": {[]*message.Message{newMessage(t, 3, 1, 0), other(t, 4, 1, 0)}, []schema.OrderKey{key(3), key(4)}},
	}
	for name, tt := range stale {
		t.Run(name, func(t *testing.T) {
			var e *pipeline.StaleError
			if err := publish(t, l, tt.msgs...); !errors.As(err, &e) {
				t.Fatalf("err = %v, want a StaleError", err)
			}
			if !slices.Equal(e.Orders, tt.want) || e.Batch != len(tt.msgs) || e.Cause == nil {
				t.Errorf("StaleError %+v, want the orders %v", e, tt.want)
			}
			unmoved(t, l, last)
		})
	}
	for name, msgs := range map[string][]*message.Message{
		"the same batch again":   created(t, 0, 10),
		"the same message again": created(t, 3, 4),
	} {
		t.Run(name, func(t *testing.T) {
			if err := publish(t, l, msgs...); !errors.Is(err, pipeline.ErrStored) {
				t.Errorf("err = %v, want ErrStored", err)
			}
			unmoved(t, l, last)
		})
	}
}

// other makes an event with the id of [newMessage]'s and another content.
func other(tb testing.TB, n int, v, expected uint64) *message.Message {
	tb.Helper()
	e := pipelinetest.Event("main", n, v)
	e.Data.Order.SubID = schema.NewText("autumn")
	m, err := pipeline.NewMessage(&e, expected, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func unmoved(tb testing.TB, l *jetstream.Log, want uint64) {
	tb.Helper()
	if last, err := l.Last(tb.Context()); err != nil || last != want {
		tb.Errorf("Last = %d, %v, want %d", last, err, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 10)...)
	refusals(t, l, 10)
	mustPublish(t, l, newMessage(t, 3, 2, 4))
	if k, ok := l.Known(key(3)); !ok || k.Version != 2 || k.Sequence != 11 {
		t.Errorf("Known = %+v, %v", k, ok)
	}
}

// A refusal brings the index of the refused writer up to date.
func TestRefusalTeaches(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	a, b := pipelinetest.Log(t, url), pipelinetest.Log(t, url)
	mustPublish(t, a, created(t, 0, 20)...)
	mustPublish(t, a, newMessage(t, 7, 2, 8))
	if err := publish(t, b, created(t, 0, 20)...); !errors.As(err, new(*pipeline.StaleError)) {
		t.Fatalf("err = %v", err)
	}
	for n := range 20 {
		want, _ := a.Known(key(n))
		if got, ok := b.Known(key(n)); !ok || got != want {
			t.Errorf("order %d: %+v, want %+v", n, got, want)
		}
	}
}

// Batches of different orders go side by side, and nothing of an order is lost,
// doubled or out of order, however large the call.
func TestOrderWithinACall(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	const orders, versions = 2300, 3
	for v := uint64(1); v <= versions; v++ {
		var msgs []*message.Message
		for n := range orders {
			known, _ := l.Known(key(n))
			msgs = append(msgs, newMessage(t, n, v, known.Sequence))
		}
		if err := publish(t, l, msgs...); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[schema.OrderKey]uint64)
	for _, e := range read(t, l, 0, orders*versions) {
		k := e.Event.Key()
		if seen[k]++; e.Event.Data.Version != seen[k] {
			t.Fatalf("order %s: version %d where %d is due", k, e.Event.Data.Version, seen[k])
		}
	}
}

// Messages without an order keep the order of the call, over the ends of
// batches, and one that is there already does not hold up the others.
func TestPlainMessages(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	msgs := make([]*message.Message, jetstream.MaxBatch+50)
	for i := range msgs {
		msgs[i] = message.NewMessage(nats.NewInbox(), []byte{byte(i), byte(i >> 8)})
	}
	if err := l.Publisher().Publish("orders.a.b.c.created", msgs[3:5]...); err != nil {
		t.Fatal(err)
	}
	if err := l.Publisher().Publish("orders.a.b.c.created", msgs[:10]...); err != nil {
		t.Fatal(err)
	}
	if err := l.Publisher().Publish("orders.a.b.c.created", msgs[:10]...); !errors.Is(err, pipeline.ErrStored) {
		t.Errorf("all of them again: %v", err)
	}
	if err := l.Publisher().Publish("orders.a.b.c.created", msgs[10:]...); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(msgs[3:5], msgs[:3], msgs[5:])
	in, _ := subscribe(t, l, jetstream.SubscriberConfig{}, "orders.a.>")
	for i := range want {
		got := receive(t, in)
		got.Ack()
		if got.UUID != want[i].UUID || !bytes.Equal(got.Payload, want[i].Payload) {
			t.Fatalf("message %d is %s, not %s", i, got.UUID, want[i].UUID)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	e := pipelinetest.Event("main", 2, 1)
	e.Data.Order.ProgramName = schema.NewText(string(bytes.Repeat([]byte("x"), 9<<20)))
	huge, err := pipeline.NewMessage(&e, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var large *pipeline.TooLargeError
	err = publish(t, l, newMessage(t, 1, 1, 0), huge)
	if !errors.As(err, &large) || !errors.Is(err, pipeline.ErrTooLarge) {
		t.Fatalf("err = %v, want a TooLargeError", err)
	}
	if large.Message != huge.UUID || large.Size <= 9<<20 || large.Limit != 8<<20 {
		t.Errorf("%+v", large)
	}
	unmoved(t, l, 0)
}

func TestClosedPublisher(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	p := l.Publisher()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(pipeline.Topic, newMessage(t, 1, 1, 0)); !errors.Is(err, pipeline.ErrClosed) {
		t.Errorf("err = %v, want ErrClosed", err)
	}
	mustPublish(t, l, newMessage(t, 1, 1, 0)) // through another publisher
}

// Where nobody keeps the stream, nothing is stored, and the error says so.
func TestNobodyStores(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	pipelinetest.Log(t, url)
	l := openLog(t, jetstream.Config{URL: url, Timeout: 300 * time.Millisecond})
	js := admin(t, url)
	if err := js.DeleteStream(t.Context(), "KV_orders"); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), jetstream.StreamName); err != nil {
		t.Fatal(err)
	}
	for _, msgs := range [][]*message.Message{created(t, 0, 1), created(t, 0, 5)} {
		if err := publish(t, l, msgs...); !errors.Is(err, pipeline.ErrNoQuorum) {
			t.Errorf("%d messages: %v, want ErrNoQuorum", len(msgs), err)
		}
	}
}

// When an order's events have aged out of the stream, its state still stands
// in the bucket, and the next change continues its versions.
func TestVersionsGoOnBehindTheStream(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	mustPublish(t, l, created(t, 0, 5)...)
	mustPublish(t, l, newMessage(t, 2, 2, 3))
	js := admin(t, url)
	bucket, err := js.KeyValue(t.Context(), jetstream.StateBucket)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := bucket.Watch(t.Context(), key(2).String())
	if err != nil {
		t.Fatal(err)
	}
	for entry := range watch.Updates() { // until the bucket has sourced the last event
		if entry != nil && bytes.Contains(entry.Value(), []byte(`"version":2`)) {
			break
		}
	}
	stream, err := js.Stream(t.Context(), jetstream.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, reader := range map[string]*jetstream.Log{"index from before": l, "index of a new start": pipelinetest.Log(t, url)} {
		if err := reader.LoadIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		state, err := reader.Load(t.Context(), key(2))
		if err != nil || state.Event == nil || state.Event.Data.Version != 2 || state.Sequence != 0 {
			t.Fatalf("%s: %+v, %v", name, state, err)
		}
		if known, ok := reader.Known(key(2)); !ok || known.Version != 2 || known.Sequence != 0 {
			t.Errorf("%s: %+v, %v", name, known, ok)
		}
	}
	if err := publish(t, l, newMessage(t, 2, 3, 6)); !errors.As(err, new(*pipeline.StaleError)) {
		t.Errorf("expecting what aged out: %v", err)
	}
	mustPublish(t, l, newMessage(t, 2, 3, 0), newMessage(t, 9, 1, 0))
	state, err := l.Load(t.Context(), key(2))
	if err != nil || state.Event.Data.Version != 3 || state.Sequence != 7 {
		t.Errorf("afterwards: %+v, %v", state, err)
	}
}

// Clients read eight headers at half the price of nine; see [pipeline.MetaState].
func TestPublishedHeaders(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	mustPublish(t, pipelinetest.Log(t, url), created(t, 0, 3)...) // in a batch, which has headers of its own
	c, err := admin(t, url).OrderedConsumer(t.Context(), jetstream.StreamName, natsjs.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Content-Type", "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Expected-Last-Subject-Sequence",
		"Nats-Expected-Last-Subject-Sequence-Subject", "Nats-Msg-Id", "Orderwire-State", "_watermill_message_uuid",
	}
	if got := slices.Sorted(maps.Keys(m.Headers())); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// admin is a client of a server for what a Log does not do.
func admin(tb testing.TB, url string) natsjs.JetStream {
	tb.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}
