package main_test

import (
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// firstPollOrders is the number of orders in the network.
const firstPollOrders = 100_000

// BenchmarkFirstPoll reads all orders of a network over HTTP into an empty
// durable log (every batch synced): network service, embedded server and poller
// share this process and its cores.
func BenchmarkFirstPoll(b *testing.B) {
	w := newWorld(b, worldConfig{orders: firstPollOrders})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			l := pipelinetest.Log(b, pipelinetest.Server(b, b.TempDir()).URL())
			p := w.poller(b, l)
			b.StartTimer()
			poll(b, p)
			b.StopTimer()
			if n := p.Stats().Created; n != firstPollOrders {
				b.Fatalf("%d orders created", n)
			}
			b.StartTimer()
		}
		b.ReportMetric(firstPollOrders*float64(b.N)/b.Elapsed().Seconds(), "orders/s")
	})
}

func (w *world) poller(tb testing.TB, l *jetstream.Log) *poller.Poller {
	tb.Helper()
	client, err := openapi.NewClient(openapi.Config{
		BaseURL: w.server.URL, AppKey: testKey, AppSecret: testSecret, RequestsPerSecond: -1,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return poller.New(poller.Config{
		Account: poller.Account{Name: "main", Backfill: 35 * 24 * time.Hour},
		Network: client, Log: l, Publisher: l.Publisher(),
	})
}

func poll(tb testing.TB, p *poller.Poller) {
	tb.Helper()
	if err := p.Poll(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}
