package jetstream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// receive takes the next message, or fails.
func receive(tb testing.TB, in <-chan *message.Message) *message.Message {
	tb.Helper()
	select {
	case m, open := <-in:
		if !open {
			tb.Fatal("the subscription has ended")
		}
		return m
	case <-time.After(30 * time.Second):
		tb.Fatal("nothing came")
	}
	return nil
}

func subscribe(tb testing.TB, l *jetstream.Log, cfg jetstream.SubscriberConfig, topic string) (<-chan *message.Message, *jetstream.Subscriber) {
	tb.Helper()
	s := l.Subscriber(cfg)
	tb.Cleanup(func() { _ = s.Close() })
	in, err := s.Subscribe(tb.Context(), topic)
	if err != nil {
		tb.Fatal(err)
	}
	return in, s
}

func TestDurableGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 10)...)
	cfg := jetstream.SubscriberConfig{Durable: "service", Window: 4, AckWait: 3 * time.Second}
	in, s := subscribe(t, l, cfg, pipeline.Topic)
	for i := range 5 {
		m := receive(t, in)
		if want := key(i).String(); entry(t, m).Event.Subject != want {
			t.Fatalf("message %d is of %s", i, entry(t, m).Event.Subject)
		}
		m.Ack()
	}
	info := awaitFloor(t, l, 5)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, open := <-in; open && info.NumAckPending == 0 {
		t.Error("open after Close")
	}
	in, _ = subscribe(t, l, cfg, pipeline.Topic)
	seen := make(map[uint64]bool)
	for len(seen) < 5 {
		m := receive(t, in)
		if e := entry(t, m); e.Sequence <= 5 {
			t.Errorf("sequence %d comes again", e.Sequence)
		} else {
			seen[e.Sequence] = true
		}
		m.Ack()
	}
}

// awaitFloor waits until the server has taken n acknowledgements.
func awaitFloor(tb testing.TB, l *jetstream.Log, n uint64) *natsjs.ConsumerInfo {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		info, err := l.Consumer(tb.Context(), "service")
		if err != nil {
			tb.Fatal(err)
		}
		if info.AckFloor.Stream >= n {
			return info
		}
	}
	return nil
}

func entry(tb testing.TB, m *message.Message) schema.Entry {
	tb.Helper()
	e, err := pipeline.ReadEntry(m)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestNackComesAgain(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 1)...)
	in, _ := subscribe(t, l, jetstream.SubscriberConfig{Durable: "service", NackDelay: time.Millisecond}, pipeline.Topic)
	receive(t, in).Nack()
	again := receive(t, in)
	if again.Metadata.Get(pipeline.MetaDelivery) != "2" {
		t.Errorf("delivery %s", again.Metadata.Get(pipeline.MetaDelivery))
	}
	again.Ack()
}

// A handler that is slower than the server's patience keeps its message.
func TestSlowHandlerKeepsItsMessage(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 1)...)
	in, _ := subscribe(t, l, jetstream.SubscriberConfig{Durable: "service", AckWait: 300 * time.Millisecond}, pipeline.Topic)
	m := receive(t, in)
	select {
	case again := <-in:
		t.Fatalf("delivery %s came while the first was worked on", again.Metadata.Get(pipeline.MetaDelivery))
	case <-time.After(1500 * time.Millisecond): // five times the server's patience
	}
	m.Ack()
}

func TestFilters(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 3)...)
	mustPublish(t, l, newMessage(t, 1, 2, 2))
	for topic, want := range map[string]uint64{"orders.main.1042.SN-000001.>": 2, "orders.*.*.*.status_changed": 4, "orders.main.>": 1} {
		in, _ := subscribe(t, l, jetstream.SubscriberConfig{}, topic)
		if got := entry(t, receive(t, in)).Sequence; got != want {
			t.Errorf("%s begins with sequence %d, want %d", topic, got, want)
		}
	}
}

// A reader that keeps its own position goes on when the server comes back.
func TestFollowSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := pipelinetest.Server(t, dir)
	l := pipelinetest.Log(t, server.URL())
	mustPublish(t, l, created(t, 0, 3)...)
	in, err := l.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for want := uint64(1); want <= 3; want++ {
		if got := entry(t, receive(t, in)).Sequence; got != want {
			t.Fatalf("sequence %d, want %d", got, want)
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	again := pipelinetest.Server(t, dir)
	if again.URL() != server.URL() {
		t.Fatalf("the address changed from %s to %s", server.Address(), again.Address())
	}
	mustPublish(t, pipelinetest.Log(t, again.URL()), created(t, 3, 6)...)
	for want := uint64(4); want <= 6; want++ {
		if got := entry(t, receive(t, in)).Sequence; got != want {
			t.Fatalf("after the restart: sequence %d, want %d", got, want)
		}
	}
}

func TestStockWatermillReadsAndWritesTheSame(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	l := pipelinetest.Log(t, server.URL())
	quiet := watermill.NopLogger{}
	stock, err := nats.NewSubscriber(nats.SubscriberConfig{
		URL: server.URL(), Unmarshaler: &nats.NATSMarshaler{}, SubscribeTimeout: 10 * time.Second, AckWaitTimeout: 10 * time.Second,
		JetStream: nats.JetStreamConfig{SubscribeOptions: []natsgo.SubOpt{natsgo.DeliverAll()}},
	}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stock.Close() })
	in, err := stock.Subscribe(t.Context(), "orders.>")
	if err != nil {
		t.Fatal(err)
	}
	ours := newMessage(t, 1, 1, 0)
	mustPublish(t, l, ours)
	got := receive(t, in)
	got.Ack()
	if got.UUID != ours.UUID || string(got.Payload) != string(ours.Payload) || !strings.HasPrefix(got.Metadata.Get(pipeline.MetaState), "1-") {
		t.Errorf("stock watermill-nats reads %s %v", got.UUID, got.Metadata)
	}

	publisher, err := nats.NewPublisher(nats.PublisherConfig{URL: server.URL(), Marshaler: &nats.NATSMarshaler{}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = publisher.Close() })
	e := pipelinetest.Event("main", 2, 1)
	plain, err := pipeline.NewMessage(&e, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	plain.Metadata = message.Metadata{"Content-Type": schema.ContentType}
	if err := publisher.Publish(e.Key().Subject(e.Type), plain); err != nil {
		t.Fatal(err)
	}
	mine, err := l.Follow(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if read := entry(t, receive(t, mine)); read.Event.ID != e.ID || read.Event.Key() != e.Key() {
		t.Errorf("we read %+v", read.Event)
	}
}

// The server itself keeps the bucket; any KV client reads it, and nobody can
// write to it.
func TestStateBucket(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	l := pipelinetest.Log(t, server.URL())
	mustPublish(t, l, created(t, 0, 3)...)
	mustPublish(t, l, newMessage(t, 1, 2, 2))
	nc, err := natsgo.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), jetstream.StateBucket)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := kv.Watch(t.Context(), key(1).String())
	if err != nil {
		t.Fatal(err)
	}
	for update := range watch.Updates() {
		if update == nil {
			continue // what was there at the start has been told
		}
		e, err := schema.ParseEvent(update.Value())
		if err != nil {
			t.Fatal(err)
		}
		if e.Data.Version == 2 {
			break
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := kv.Put(ctx, key(1).String(), []byte("forged")); err == nil {
		t.Error("a client wrote into the bucket")
	}
}
