package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmjetstream "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/jetstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// side is the number of calls that a benchmark has under way at a time.
const side = 4

// knownOrders is the number of orders in the log before anything is measured.
func knownOrders() int {
	if testing.Short() {
		return 50_000
	}
	return 1_000_000
}

// eventOf makes version v of an order with about 1.1 KB.
func eventOf(n int, v uint64) schema.Event {
	e := pipelinetest.Event("main", n, v)
	line := e.Data.Order.Details[0]
	line.ItemName = schema.NewText("Trail running shoes 42, blue " + strings.Repeat("x", 200))
	line.ItemImg = schema.NewText("https://img.example.com/2026/11/" + strconv.Itoa(n) + ".jpg")
	e.Data.Order.Details = []schema.OrderLine{line, line}
	return e
}

func benchMessage(tb testing.TB, n int, v, expected uint64) *message.Message {
	tb.Helper()
	e := eventOf(n, v)
	m, err := pipeline.NewMessage(&e, expected, uint64(n)<<8|v)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// fill brings orders to version 1.
func fill(tb testing.TB, l *jetstream.Log, orders int) {
	tb.Helper()
	const call = side * jetstream.MaxBatch
	for from := 0; from < orders; from += call {
		var msgs []*message.Message
		for n := from; n < min(from+call, orders); n++ {
			msgs = append(msgs, benchMessage(tb, n, 1, 0))
		}
		if err := publish(tb, l, msgs...); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkPublisher publishes changes of known orders, 1.1 KB each, into the
// log of a server that syncs every write, with the state bucket fed meanwhile.
// Beside it stand two limits, atomic batches of the bare client: with the same
// messages into the same stream, and with nothing but the payload into a stream
// without conditions, ids and bucket; and the stock publisher of watermill-nats,
// which stores one message at a time.
func BenchmarkPublisher(b *testing.B) {
	asTheProgram(b)
	url := pipelinetest.Server(b, b.TempDir()).URL()
	l := pipelinetest.Log(b, url)
	fill(b, l, knownOrders())
	js := admin(b, url)
	_, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: "PLAIN", Subjects: []string{"plain.*.*.*.*"}, AllowAtomicPublish: true})
	if err != nil {
		b.Fatal(err)
	}
	rounds := 0
	b.Run("ours", func(b *testing.B) {
		for next := 0; next < b.N; {
			b.StopTimer()
			n := min(side*jetstream.MaxBatch, b.N-next, knownOrders())
			msgs := changes(b, l, &rounds, n)
			b.StartTimer()
			if err := publish(b, l, msgs...); err != nil {
				b.Fatal(err)
			}
			next += n
		}
		perSecond(b)
	})
	b.Run("limit=the same by the bare client", func(b *testing.B) {
		for next := 0; next < b.N; {
			b.StopTimer()
			n := min(side*jetstream.MaxBatch, b.N-next, knownOrders())
			if err := l.LoadIndex(b.Context()); err != nil { // it did not store the last ones itself
				b.Fatal(err)
			}
			var all []*nats.Msg
			for _, m := range changes(b, l, &rounds, n) {
				all = append(all, bare(m))
			}
			b.StartTimer()
			sideBySide(b, js.Conn(), all)
			next += n
		}
		perSecond(b)
	})
	payload := benchMessage(b, 1, 2, 1).Payload
	b.Run("limit=raw atomic batches", func(b *testing.B) {
		for next := 0; next < b.N; next += side * jetstream.MaxBatch {
			all := make([]*nats.Msg, min(side*jetstream.MaxBatch, b.N-next))
			for i := range all {
				all[i] = nats.NewMsg("plain.a.b.c.d")
				all[i].Data = payload
			}
			sideBySide(b, js.Conn(), all)
		}
		perSecond(b)
	})
	b.Run("stock", func(b *testing.B) {
		stock, err := wmjetstream.NewPublisher(wmjetstream.PublisherConfig{URL: url, Logger: watermill.NopLogger{}})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = stock.Close() }()
		for b.Loop() {
			if err := stock.Publish("plain.a.b.c.d", message.NewMessage(nuid.Next(), payload)); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
}

// asTheProgram has garbage collected as seldom as the orderwire command does,
// unless GOGC says otherwise.
func asTheProgram(b *testing.B) {
	b.Helper()
	if os.Getenv("GOGC") == "" {
		before := debug.SetGCPercent(300)
		b.Cleanup(func() { debug.SetGCPercent(before) })
	}
}

func perSecond(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// changes makes the next version of n orders, round and round.
func changes(tb testing.TB, l *jetstream.Log, from *int, n int) []*message.Message {
	tb.Helper()
	msgs := make([]*message.Message, n)
	for i := range msgs {
		order := (*from + i) % knownOrders()
		known, ok := l.Known(key(order))
		if !ok {
			tb.Fatalf("order %d is not known", order)
		}
		msgs[i] = benchMessage(tb, order, known.Version+1, known.Sequence)
	}
	*from += n
	return msgs
}

// bare gives a message the headers that our Publisher gives it.
func bare(m *message.Message) *nats.Msg {
	n := nats.NewMsg(m.Metadata[pipeline.MetaSubject])
	n.Data = m.Payload
	for name, value := range map[string]string{
		"_watermill_message_uuid": m.UUID, "Nats-Msg-Id": m.UUID,
		"Nats-Expected-Last-Subject-Sequence":         m.Metadata[pipeline.MetaExpected],
		"Nats-Expected-Last-Subject-Sequence-Subject": m.Metadata[pipeline.MetaFilter],
		pipeline.MetaState:                            m.Metadata[pipeline.MetaState],
		pipeline.MetaContentType:                      m.Metadata[pipeline.MetaContentType],
	} {
		n.Header[name] = []string{value}
	}
	return n
}

// sideBySide stores messages in as many batches at a time as the Publisher does.
func sideBySide(b *testing.B, nc *nats.Conn, all []*nats.Msg) {
	b.Helper()
	var group sync.WaitGroup
	for batch := range slices.Chunk(all, jetstream.MaxBatch) {
		group.Go(func() {
			if err := rawBatch(b.Context(), nc, batch); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
}

// rawBatch stores a batch with nothing but the client.
func rawBatch(ctx context.Context, nc *nats.Conn, batch []*nats.Msg) error {
	id := nuid.Next()
	for i := 1; ; i++ {
		m := batch[i-1]
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i))
		if i < len(batch) {
			if err := nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
		answer, err := nc.RequestMsgWithContext(ctx, m)
		if err == nil && strings.Contains(string(answer.Data), "error") {
			err = errors.New(string(answer.Data))
		}
		return err
	}
}

// BenchmarkIndex rebuilds the index of all orders from the state bucket, and
// says what an order costs in memory.
func BenchmarkIndex(b *testing.B) {
	url := pipelinetest.Server(b, b.TempDir()).URL()
	fill(b, pipelinetest.Log(b, url), knownOrders())
	sourced(b, url, knownOrders())
	asTheProgram(b)
	for b.Loop() {
		l := pipelinetest.Log(b, url)
		b.StartTimer()
		if err := l.LoadIndex(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if l.Orders() != knownOrders() {
			b.Fatalf("%d orders", l.Orders())
		}
		b.ReportMetric(float64(jetstream.IndexBytes(l))/float64(l.Orders()), "B/order")
		b.StartTimer()
	}
	b.ReportMetric(float64(knownOrders())*float64(b.N)/b.Elapsed().Seconds(), "orders/s")
}

// sourced waits until the state bucket holds all orders.
func sourced(tb testing.TB, url string, orders int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	s, err := admin(tb, url).Stream(ctx, "KV_"+jetstream.StateBucket)
	if err != nil {
		tb.Fatal(err)
	}
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		info, err := s.Info(ctx)
		if err != nil {
			tb.Fatal(fmt.Errorf("waiting for the bucket: %w", err))
		}
		if info.State.Msgs == uint64(orders) {
			return
		}
	}
}
