package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// durables are the modes with a durable consumer.
func durables() map[string]jetstream.SubscriberConfig {
	return map[string]jetstream.SubscriberConfig{
		"explicit":           {Durable: "service", NackDelay: time.Millisecond},
		"ack all":            {Durable: "service", NackDelay: time.Millisecond, AckAll: true},
		"pinned":             {Durable: "service", NackDelay: time.Millisecond, Pinned: true},
		"pinned and ack all": {Durable: "service", NackDelay: time.Millisecond, Pinned: true, AckAll: true},
	}
}

func sequence(tb testing.TB, m *message.Message) uint64 {
	tb.Helper()
	return entry(tb, m).Sequence
}

// An acknowledgement settles all before it; a nacked message comes again with
// everything behind it, in order.
func TestAckAll(t *testing.T) {
	t.Parallel()
	for _, pinned := range []bool{false, true} {
		t.Run(fmt.Sprintf("pinned=%v", pinned), func(t *testing.T) {
			t.Parallel()
			l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
			mustPublish(t, l, created(t, 0, 8)...)
			cfg := jetstream.SubscriberConfig{Durable: "service", AckAll: true, Pinned: pinned, NackDelay: time.Millisecond}
			in, s := subscribe(t, l, cfg, pipeline.Topic)
			var first []*message.Message
			for range 8 {
				first = append(first, receive(t, in))
			}
			first[7].Ack() // of no use: one before it is nacked
			first[3].Nack()
			first[1].Ack()
			var again []*message.Message
			for want := uint64(4); want <= 8; want++ {
				m := receive(t, in)
				if sequence(t, m) != want || m.Metadata.Get(pipeline.MetaDelivery) != "2" {
					t.Fatalf("delivery %s of %d, want the second of %d", m.Metadata.Get(pipeline.MetaDelivery), sequence(t, m), want)
				}
				again = append(again, m)
			}
			again[2].Ack() // 6, and with it 3, 4 and 5
			awaitFloor(t, l, 6)
			select {
			case <-again[0].Context().Done():
			case <-time.After(10 * time.Second):
				t.Error("the context of a settled message goes on")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			in, _ = subscribe(t, l, cfg, pipeline.Topic)
			if got := sequence(t, receive(t, in)); got != 7 {
				t.Errorf("after a new start comes %d, want 7", got)
			}
		})
	}
}

// What the reader can never unwrap, and what it refuses too often, goes into the
// dead letters, and the rest goes on.
func TestDeadLettersOfASubscriber(t *testing.T) {
	t.Parallel()
	for name, cfg := range durables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pipelinetest.Server(t, t.TempDir())
			l := pipelinetest.Log(t, server.URL())
			js := admin(t, server.URL())
			nc := js.Conn()
			mustPublish(t, l, created(t, 0, 1)...)
			publishUnreadable(t, nc)
			mustPublish(t, l, created(t, 1, 4)...)
			cfg.MaxDeliver = 3
			in, _ := subscribe(t, l, cfg, pipeline.Topic)
			refusals := 0
			for settled := map[uint64]bool{}; len(settled) < 3 || refusals < cfg.MaxDeliver; {
				m := receive(t, in)
				switch seq := sequence(t, m); seq {
				case 2:
					t.Fatal("the reader got what cannot be unwrapped")
				case 4:
					refusals++
					m.Nack()
				default:
					settled[seq] = true
					m.Ack()
				}
			}
			go func() {
				for m := range in { // what came again behind the one that is refused
					m.Ack()
				}
			}()
			awaitFloor(t, l, 5)
			for seq, want := range map[string]string{"2": "header Two has 2 values", "4": "refused 3 times"} {
				letter := deadLetter(t, js, seq)
				attempts := map[string]string{"2": "1", "4": "3"}[seq]
				if reason := letter.Header.Get("Orderwire-Dead-Reason"); !strings.Contains(reason, want) {
					t.Errorf("sequence %s: reason %q", seq, reason)
				}
				if letter.Header.Get("Orderwire-Dead-Sink") != "service" || letter.Header.Get("Orderwire-Dead-Attempts") != attempts {
					t.Errorf("sequence %s: %v", seq, letter.Header)
				}
			}
		})
	}
}

// publishUnreadable stores a message that no NATSMarshaler can have written.
func publishUnreadable(tb testing.TB, nc *natsgo.Conn) {
	tb.Helper()
	m := natsgo.NewMsg("orders.a.b.c.created")
	m.Header["Two"] = []string{"1", "2"}
	m.Data = []byte("by hand")
	if _, err := nc.RequestMsg(m, 10*time.Second); err != nil {
		tb.Fatal(err)
	}
}

// deadLetter waits for the dead letter of a sequence.
func deadLetter(tb testing.TB, js natsjs.JetStream, seq string) *natsjs.RawStreamMsg {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), jetstream.DeadStreamName)
	if err != nil {
		tb.Fatal(err)
	}
	for n := uint64(1); n < 10; n++ {
		m, err := stream.GetMsg(tb.Context(), n)
		if err != nil {
			tb.Fatalf("no dead letter of sequence %s: %v", seq, err)
		}
		if m.Header.Get("Orderwire-Dead-Sequence") == seq {
			return m
		}
	}
	return nil
}

// While the dead letters cannot be written, the message stays, and the others go on.
func TestDeadLettersCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, cfg := range durables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pipelinetest.Server(t, t.TempDir())
			l := pipelinetest.Log(t, server.URL())
			js := admin(t, server.URL())
			nc := js.Conn()
			if err := js.DeleteStream(t.Context(), jetstream.DeadStreamName); err != nil {
				t.Fatal(err)
			}
			publishUnreadable(t, nc)
			mustPublish(t, l, created(t, 0, 2)...)
			in, s := subscribe(t, l, cfg, pipeline.Topic)
			for want := uint64(2); want <= 3; want++ {
				m := receive(t, in)
				if got := sequence(t, m); got != want {
					t.Fatalf("sequence %d, want %d", got, want)
				}
				m.Ack()
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := l.Consumer(t.Context(), "service"); err != nil || info.AckFloor.Stream != 0 || info.NumAckPending == 0 {
				t.Fatalf("the message that could not be put away is settled: %+v, %v", info, err)
			}
			pipelinetest.Log(t, server.URL()) // makes the stream again
			subscribe(t, l, cfg, pipeline.Topic)
			awaitFloor(t, l, 1)
			if letter := deadLetter(t, js, "1"); string(letter.Data) != "by hand" {
				t.Errorf("dead letter %q", letter.Data)
			}
		})
	}
}

// A consumer that somebody deletes on the server is made again, from the oldest
// message that is not settled.
func TestConsumerDeletedInMidStream(t *testing.T) {
	t.Parallel()
	modes := durables()
	modes["position"] = jetstream.SubscriberConfig{}
	for name, cfg := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pipelinetest.Server(t, t.TempDir())
			l := pipelinetest.Log(t, server.URL())
			js := admin(t, server.URL())
			const n = 3000
			for from := 0; from < n; from += 1000 {
				mustPublish(t, l, created(t, from, from+1000)...)
			}
			cfg.Window = 64
			in, _ := subscribe(t, l, cfg, pipeline.Topic)
			var held []*message.Message // five are always in work
			readAll(t, in, n, func(m *message.Message, newest uint64) {
				if newest == 1000 || newest == 2000 {
					deleteConsumers(t, js)
				}
				if held = append(held, m); len(held) > 5 {
					held[0].Ack()
					held = held[1:]
				}
			})
		})
	}
}

// readAll reads until the sequences from 1 to n have come, of which none may come
// before the one that it follows. Each new one is given to handle.
func readAll(tb testing.TB, in <-chan *message.Message, n uint64, handle func(m *message.Message, newest uint64)) {
	tb.Helper()
	for newest := uint64(0); newest < n; {
		m := receive(tb, in)
		seq := sequence(tb, m)
		switch {
		case seq > newest+1:
			tb.Fatalf("%d came after %d", seq, newest)
		case seq <= newest:
			m.Ack() // came before
			continue
		}
		newest = seq
		handle(m, newest)
	}
}

func deleteConsumers(tb testing.TB, js natsjs.JetStream) {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), jetstream.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	names := stream.ConsumerNames(tb.Context())
	for name := range names.Name() {
		if err := stream.DeleteConsumer(tb.Context(), name); err != nil {
			tb.Fatal(err)
		}
	}
	if names.Err() != nil {
		tb.Fatal(names.Err())
	}
}

// The connection breaks again and again, with messages on the way: nothing is
// left out, and the ordered modes keep their order.
func TestConnectionBreaksInMidStream(t *testing.T) {
	t.Parallel()
	modes := durables()
	modes["position"] = jetstream.SubscriberConfig{}
	for name, cfg := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pipelinetest.Server(t, t.TempDir())
			l := pipelinetest.Log(t, server.URL())
			const n = 3000
			for from := 0; from < n; from += 1000 {
				mustPublish(t, l, created(t, from, from+1000)...)
			}
			way := newCable(t, server)
			far := openLog(t, jetstream.Config{URL: way.url, ReadOnly: true})
			cfg.Window, cfg.AckWait = 64, 2*time.Second
			in, _ := subscribe(t, far, cfg, pipeline.Topic)
			ordered := cfg.Durable == "" || cfg.AckAll || cfg.Pinned
			seen, newest := make(map[uint64]bool), uint64(0)
			for len(seen) < n {
				m := receive(t, in)
				seq := sequence(t, m)
				if ordered && seq > newest+1 {
					t.Fatalf("%d came after %d", seq, newest)
				}
				newest = max(newest, seq)
				if !seen[seq] && seq%1000 == 500 {
					way.cut()
				}
				seen[seq] = true
				m.Ack()
			}
		})
	}
}

// A cluster may lose a request or its answer when servers have just found one
// another: who subscribes asks again, however long its context lasts.
func TestAnswerToASubscriptionIsLost(t *testing.T) {
	t.Parallel()
	modes := durables()
	modes["position"] = jetstream.SubscriberConfig{}
	for name, cfg := range modes {
		requests := []string{"CONSUMER.CREATE"}
		if cfg.Pinned {
			requests = append(requests, "CONSUMER.RESET")
		}
		for _, request := range requests {
			t.Run(name+"/"+request, func(t *testing.T) {
				t.Parallel()
				server := pipelinetest.Server(t, t.TempDir())
				mustPublish(t, pipelinetest.Log(t, server.URL()), created(t, 0, 3)...)
				way := newCable(t, server)
				far := openLog(t, jetstream.Config{URL: way.url, ReadOnly: true, Timeout: 2 * time.Second})
				way.loseAnswer(request)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				in, err := far.Subscriber(cfg).Subscribe(ctx, pipeline.Topic)
				if err != nil {
					t.Fatal(err)
				}
				readAll(t, in, 3, func(m *message.Message, _ uint64) { m.Ack() })
				if !way.lost() {
					t.Error("no answer was lost")
				}
			})
		}
	}
}

// The error of a subscription whose context has ended is that of the context.
func TestSubscribeTooLate(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for _, cfg := range []jetstream.SubscriberConfig{{}, {Durable: "service"}} {
		if _, err := l.Subscriber(cfg).Subscribe(ctx, pipeline.Topic); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// Two modes cannot use one durable, and the error says what to do.
func TestConsumerOfAnotherMode(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	subscribe(t, l, jetstream.SubscriberConfig{Durable: "service"}, pipeline.Topic)
	for name, cfg := range map[string]jetstream.SubscriberConfig{
		"consumer service exists":                              {Durable: "service", AckAll: true},
		"not pinned; wanted are":                               {Durable: "service", Pinned: true},
		"name of a durable consumer may not hold @":            {Durable: "a@b"},
		"need the name of a durable consumer":                  {AckAll: true},
		"the time to take over is less than 3s":                {Durable: "other", Pinned: true, Takeover: time.Second},
		"subscribe to orders.>: acknowledging all and pinning": {Pinned: true},
	} {
		_, err := l.Subscriber(cfg).Subscribe(t.Context(), pipeline.Topic)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want %s", cfg, err, name)
		}
	}
}

// Every topic of a durable has a cursor of its own.
func TestTopicsOfADurable(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	l := pipelinetest.Log(t, server.URL())
	mustPublish(t, l, created(t, 0, 3)...)
	s := l.Subscriber(jetstream.SubscriberConfig{Durable: "service"})
	t.Cleanup(func() { _ = s.Close() })
	for _, topic := range []string{pipeline.Topic, "orders.>", "orders.main.1042.SN-000002.*"} {
		in, err := s.Subscribe(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		if topic != "orders.>" { // the first has what this one shares with it
			receive(t, in).Ack()
		}
	}
	js := admin(t, server.URL())
	stream, err := js.Stream(t.Context(), jetstream.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	list := stream.ConsumerNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"service", "service@orders=2Emain=2E1042=2ESN-000002=2E=2A"}; !slices.Equal(names, want) {
		t.Errorf("consumers %q, want %q", names, want)
	}
}
