package jetstream_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmjetstream "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/jetstream"
	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// benchMessages is how many events the log of a benchmark holds. A benchmark that
// is to read more begins anew with another consumer.
const benchMessages = 100_000

// benchSize is about the size of an event with its headers.
const benchSize = 1100

// fullLog returns the address of a server whose log holds benchMessages events.
func fullLog(b *testing.B) string {
	b.Helper()
	server := pipelinetest.Server(b, b.TempDir())
	l := pipelinetest.Log(b, server.URL())
	const batch = 1000
	for from := 0; from < benchMessages; from += batch {
		msgs := created(b, from, from+batch)
		for _, m := range msgs {
			m.Payload = append(m.Payload, strings.Repeat(" ", max(0, benchSize-len(m.Payload)))...)
		}
		mustPublish(b, l, msgs...)
	}
	return server.URL()
}

// reader reads n messages of a full log from its beginning.
type reader func(b *testing.B, url string, n int)

// rounds reads b.N messages, in as many rounds as the log makes necessary.
func rounds(b *testing.B, url string, read reader) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= benchMessages {
		read(b, url, min(left, benchMessages))
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// ourReader reads with our Subscriber.
func ourReader(cfg jetstream.SubscriberConfig, handle func(<-chan *message.Message, int)) reader {
	return func(b *testing.B, url string, n int) {
		b.Helper()
		l := openLog(b, jetstream.Config{URL: url, ReadOnly: true})
		if cfg.Durable != "" {
			cfg.Durable = "bench-" + watermill.NewShortUUID()
		}
		s := l.Subscriber(cfg)
		in, err := s.Subscribe(b.Context(), pipeline.Topic)
		if err != nil {
			b.Fatal(err)
		}
		handle(in, n)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// ackEach acknowledges each message at once.
func ackEach(in <-chan *message.Message, n int) {
	for range n {
		(<-in).Ack()
	}
}

// handleEach works five milliseconds on each message, on all that come at once.
func handleEach(in <-chan *message.Message, n int) {
	var active sync.WaitGroup
	for range n {
		m := <-in
		active.Add(1)
		time.AfterFunc(5*time.Millisecond, func() {
			m.Ack()
			active.Done()
		})
	}
	active.Wait()
}

// consumeReader reads with nats.go's Consume; every counts the messages for which
// one acknowledgement is sent.
func consumeReader(policy natsjs.AckPolicy, window, every int) reader {
	return func(b *testing.B, url string, n int) {
		b.Helper()
		nc, err := natsgo.Connect(url)
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		js, err := natsjs.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		cons, err := js.CreateConsumer(b.Context(), jetstream.StreamName, natsjs.ConsumerConfig{
			Durable: "bench-" + watermill.NewShortUUID(), AckPolicy: policy, MaxAckPending: window,
		})
		if err != nil {
			b.Fatal(err)
		}
		done, got := make(chan struct{}), 0
		cc, err := cons.Consume(func(m natsjs.Msg) {
			if got++; got%every == 0 || got == n {
				_ = m.Ack()
			}
			if got == n {
				close(done)
			}
		}, natsjs.PullMaxMessages(window))
		if err != nil {
			b.Fatal(err)
		}
		<-done
		cc.Stop()
	}
}

// stockReader reads with watermill-nats' jetstream subscriber.
func stockReader(async bool, handle func(<-chan *message.Message, int)) reader {
	return func(b *testing.B, url string, n int) {
		b.Helper()
		s, err := wmjetstream.NewSubscriber(wmjetstream.SubscriberConfig{
			URL: url, Logger: watermill.NopLogger{}, ResourceInitializer: filteredConsumer, AckAsync: async,
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		in, err := s.Subscribe(ctx, "orders.>")
		if err != nil {
			b.Fatal(err)
		}
		handle(in, n)
		_ = s.Close()
	}
}

// Reading as fast as it goes. The limit of ack-all is nats.go's Consume, which
// does no more than call a function with the message.
func BenchmarkSubscribe(b *testing.B) {
	url := fullLog(b)
	const window = 1024
	for _, c := range []struct {
		name string
		read reader
	}{
		{"ack-all/limit-nats.go-Consume", consumeReader(natsjs.AckAllPolicy, window, window/4)},
		{"ack-all/ours", ourReader(jetstream.SubscriberConfig{Durable: "-", AckAll: true, Window: window}, ackEach)},
		{"ack-all/ours-pinned", ourReader(jetstream.SubscriberConfig{Durable: "-", AckAll: true, Pinned: true, Window: window}, ackEach)},
		{"explicit/limit-nats.go-Consume", consumeReader(natsjs.AckExplicitPolicy, window, 1)},
		{"explicit/ours", ourReader(jetstream.SubscriberConfig{Durable: "-", Window: window}, ackEach)},
		{"explicit/stock-async", stockReader(true, ackEach)},
		{"position/ours", ourReader(jetstream.SubscriberConfig{Window: window}, ackEach)},
	} {
		b.Run(c.name, func(b *testing.B) { rounds(b, url, c.read) })
	}
}

// A handler that takes 5 ms, as one that asks another service: ours has a window
// of 256 at work, the stock subscriber one message.
func BenchmarkSlowHandler(b *testing.B) {
	url := fullLog(b)
	for _, c := range []struct {
		name string
		read reader
	}{
		{"stock", stockReader(true, handleEach)},
		{"ours-window-256", ourReader(jetstream.SubscriberConfig{Durable: "-", Window: 256}, handleEach)},
	} {
		b.Run(c.name, func(b *testing.B) { rounds(b, url, c.read) })
	}
}
