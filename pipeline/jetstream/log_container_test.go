package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmjetstream "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/jetstream"
	"github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// openLog opens a log with settings of the test's own.
func openLog(tb testing.TB, cfg jetstream.Config) *jetstream.Log {
	tb.Helper()
	l, err := jetstream.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// The log on a server of its own: what is published is read in order, a stale
// batch stores nothing, and after the server was killed a new writer finds index
// and states as they were.
func TestContainerLog(t *testing.T) {
	t.Parallel()
	url, server := pipelinetest.ContainerNATS(t)
	l := pipelinetest.Log(t, url)
	mustPublish(t, l, created(t, 0, 2500)...)
	for i, e := range read(t, l, 0, 2500) {
		if e.Sequence != uint64(i+1) || e.Event.Key() != key(i) || e.Subject != key(i).Subject(schema.OrderCreated) {
			t.Fatalf("entry %d: sequence %d, key %s, subject %s", i, e.Sequence, e.Event.Key(), e.Subject)
		}
	}
	refusals(t, l, 2500)
	mustPublish(t, l, newMessage(t, 7, 2, 8))
	if last, err := l.Last(t.Context()); err != nil || last != 2501 {
		t.Errorf("Last = %d, %v, want 2501", last, err)
	}

	pipelinetest.KillContainer(t, server)
	pipelinetest.ReviveNATS(t, server)
	again := pipelinetest.Log(t, url)
	if err := again.LoadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := again.Orders(); got != 2500 {
		t.Errorf("the index holds %d orders", got)
	}
	for n, want := range map[int]pipeline.Known{
		7: {Sequence: 2501, Version: 2, Content: 7<<8 | 2}, 2499: {Sequence: 2500, Version: 1, Content: 2499<<8 | 1},
	} {
		if got, ok := again.Known(key(n)); !ok || got != want {
			t.Errorf("order %d: %+v, %v; want %+v", n, got, ok, want)
		}
	}
	state, err := again.Load(t.Context(), key(7))
	if err != nil || state.Sequence != 2501 || state.Event.Data.Version != 2 {
		t.Errorf("Load = %+v, %v", state, err)
	}
}

// A batch is stored and its answer lost: the writer has an error, makes the same
// call again, is refused, and finds the batch in the log, once.
func TestContainerLostAnswer(t *testing.T) {
	t.Parallel()
	url, _ := pipelinetest.ContainerNATS(t)
	way := newLossy(t, strings.TrimPrefix(url, "nats://"))
	l := openLog(t, jetstream.Config{URL: "nats://" + way.address(), Timeout: time.Second})
	batch := created(t, 0, 40)
	way.loseAnswerTo("Nats-Batch-Commit")
	var stale *pipeline.StaleError
	if err := publish(t, l, batch...); err == nil || errors.As(err, &stale) || errors.Is(err, pipeline.ErrStored) {
		t.Fatalf("without an answer: %v", err)
	}
	way.heal()
	err := publish(t, l, batch...)
	for tries := 1; tries < 5 && !errors.Is(err, pipeline.ErrStored); tries++ { // what the broken connection still took is lost
		err = publish(t, l, batch...)
	}
	if !errors.Is(err, pipeline.ErrStored) {
		t.Fatalf("the same again: %v, want ErrStored", err)
	}
	for n := range 40 {
		state, err := l.Load(t.Context(), key(n))
		if err != nil || state.Event == nil || state.Sequence != uint64(n+1) || state.Event.ID != batch[n].UUID {
			t.Fatalf("order %d: %+v, %v", n, state, err)
		}
	}
	mustPublish(t, l, newMessage(t, 0, 2, 1)) // with the right picture it goes on
	if last, err := pipelinetest.Log(t, url).Last(t.Context()); err != nil || last != 41 {
		t.Errorf("Last = %d, %v, want 41", last, err)
	}
}

// A service that uses stock watermill-nats, either of its two subscribers, reads
// what our Publisher wrote.
func TestContainerStockSubscribers(t *testing.T) {
	t.Parallel()
	url, _ := pipelinetest.ContainerNATS(t)
	wrote := created(t, 0, 25)
	mustPublish(t, pipelinetest.Log(t, url), wrote...)
	for name, subscriber := range map[string]func() (message.Subscriber, error){
		"nats": func() (message.Subscriber, error) {
			return nats.NewSubscriber(nats.SubscriberConfig{
				URL: url, Unmarshaler: &nats.NATSMarshaler{},
				JetStream: nats.JetStreamConfig{SubscribeOptions: []natsgo.SubOpt{natsgo.DeliverAll()}},
			}, watermill.NopLogger{})
		},
		"jetstream": func() (message.Subscriber, error) {
			return wmjetstream.NewSubscriber(wmjetstream.SubscriberConfig{
				URL: url, Logger: watermill.NopLogger{}, ResourceInitializer: filteredConsumer,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			stock, err := subscriber()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stock.Close() })
			in, err := stock.Subscribe(t.Context(), "orders.main.>")
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range wrote {
				got := receive(t, in)
				got.Ack()
				if got.UUID != want.UUID || !bytes.Equal(got.Payload, want.Payload) ||
					!strings.HasPrefix(got.Metadata.Get(pipeline.MetaState), "1-") || got.Metadata.Get(pipeline.MetaContentType) != schema.ContentType {
					t.Fatalf("message %d: %s %v", i, got.UUID, got.Metadata)
				}
			}
		})
	}
}

// filteredConsumer makes a consumer of the log for a topic that is a subject filter.
func filteredConsumer(ctx context.Context, js natsjs.JetStream, topic string) (
	natsjs.Consumer, func(context.Context, watermill.LoggerAdapter), error,
) {
	c, err := js.CreateConsumer(ctx, jetstream.StreamName, natsjs.ConsumerConfig{FilterSubject: topic, AckPolicy: natsjs.AckExplicitPolicy})
	return c, nil, err
}

// Our Subscriber reads what a service wrote with stock watermill-nats.
func TestContainerStockPublisher(t *testing.T) {
	t.Parallel()
	url, _ := pipelinetest.ContainerNATS(t)
	l := pipelinetest.Log(t, url)
	stock, err := nats.NewPublisher(nats.PublisherConfig{
		URL: url, Marshaler: &nats.NATSMarshaler{}, JetStream: nats.JetStreamConfig{TrackMsgId: true},
	}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stock.Close() })
	e := pipelinetest.Event("a", 1, 1)
	wrote, err := pipeline.NewMessage(&e, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	wrote.Metadata = message.Metadata{"Note": "by hand"}
	for range 2 { // the second is a duplicate by its id
		if err := stock.Publish("orders.a.b.c.created", wrote); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := l.Last(t.Context()); err != nil || last != 1 {
		t.Errorf("Last = %d, %v, want 1", last, err)
	}
	in, _ := subscribe(t, l, jetstream.SubscriberConfig{}, "orders.a.>")
	got := receive(t, in)
	if got.UUID != wrote.UUID || !bytes.Equal(got.Payload, wrote.Payload) || got.Metadata.Get("Note") != "by hand" {
		t.Errorf("%s %v", got.UUID, got.Metadata)
	}
	if read := entry(t, got); read.Sequence != 1 || read.Subject != "orders.a.b.c.created" || read.Event.ID != e.ID {
		t.Errorf("%+v", read)
	}
}

// lossy is a way to a server that can lose answers.
type lossy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	after []byte // what a request must hold for answers to be lost from there on
	lost  bool
	conns []net.Conn
}

func newLossy(tb testing.TB, server string) *lossy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w := &lossy{listener: l, server: server}
	var active sync.WaitGroup
	active.Go(func() { w.accept(&active) })
	tb.Cleanup(func() {
		_ = l.Close()
		w.heal()
		active.Wait()
	})
	return w
}

func (w *lossy) address() string { return w.listener.Addr().String() }

// loseAnswerTo loses every answer once a request with this text has come by.
func (w *lossy) loseAnswerTo(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = []byte(text)
}

// heal breaks the connections; from then on nothing is lost.
func (w *lossy) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after, w.lost = nil, false
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *lossy) accept(active *sync.WaitGroup) {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		active.Go(func() { carry(server, client, w.request()) })
		active.Go(func() { carry(client, server, w.answer) })
	}
}

// carry copies what pass lets through, until either side ends.
func carry(to io.WriteCloser, from io.Reader, pass func([]byte) bool) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && pass(buf[:n]) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request looks for the text in the stream of one client, over its pieces.
func (w *lossy) request() func([]byte) bool {
	var seen []byte
	return func(b []byte) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		seen = append(seen, b...)
		if len(w.after) > 0 && bytes.Contains(seen, w.after) {
			w.lost = true
		}
		seen = append(seen[:0], seen[max(0, len(seen)-64):]...)
		return true
	}
}

func (w *lossy) answer([]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.lost
}
