package main_test

import (
	"runtime/debug"
	"syscall"
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
// share this process and its cores. cpu-µs/order is what all three of them take
// together, which tells more than the time on a machine that does other things.
func BenchmarkFirstPoll(b *testing.B) {
	b.Cleanup(func() { debug.SetGCPercent(100) })
	debug.SetGCPercent(300) // as in tuneMemory
	w := newWorld(b, worldConfig{orders: firstPollOrders})
	b.Run("first", func(b *testing.B) {
		var cpu time.Duration
		for b.Loop() {
			b.StopTimer()
			l := pipelinetest.Log(b, pipelinetest.Server(b, b.TempDir()).URL())
			p := w.poller(b, l)
			before := cpuTime(b)
			b.StartTimer()
			poll(b, p)
			b.StopTimer()
			cpu += cpuTime(b) - before
			if n := p.Stats().Created; n != firstPollOrders {
				b.Fatalf("%d orders created", n)
			}
			b.StartTimer()
		}
		orders := firstPollOrders * float64(b.N)
		b.ReportMetric(orders/b.Elapsed().Seconds(), "orders/s")
		b.ReportMetric(float64(cpu.Microseconds())/orders, "cpu-µs/order")
	})
}

// cpuTime is what this process has used of its cores, the kernel's part included.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	return usedBy(tb, syscall.RUSAGE_SELF)
}

// allTime is cpuTime with the processes that this one has started and that have
// ended.
func allTime(tb testing.TB) time.Duration {
	tb.Helper()
	return cpuTime(tb) + usedBy(tb, syscall.RUSAGE_CHILDREN)
}

func usedBy(tb testing.TB, who int) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
