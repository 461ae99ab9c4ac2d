package network_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// benchOrders is how many orders the benchmarks store; NETWORK_BENCH_ORDERS
// changes it.
func benchOrders(b *testing.B) int64 {
	if s := os.Getenv("NETWORK_BENCH_ORDERS"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 100_000
}

// discard is a response writer that counts.
type discard struct {
	header http.Header
	bytes  int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.bytes += len(p)
	return len(p), nil
}

// serve answers a call without a network.
func (f *fixture) serve(service string, body []byte) int {
	r := httptest.NewRequest(http.MethodPost, "/"+appKey+"/"+service, bytes.NewReader(body))
	w := &discard{header: http.Header{}}
	f.svc.Handler().ServeHTTP(w, r)
	return w.bytes
}

func BenchmarkService(b *testing.B) {
	f := start(b, nil)
	begun := time.Now()
	orders := benchOrders(b)
	// So many a day that page 500 of 200 exists.
	history := time.Duration(24*max(1, orders/125_000)) * time.Hour
	f.simulator(network.SimulatorConfig{Seed: 1, History: history}, orders)
	b.Logf("%d orders made in %s", orders, time.Since(begun).Round(time.Millisecond))
	now := f.clock.unix.Load()
	window := params{"Stime": now - 86400, "Etime": now, "PageSize": 200}
	b.Logf("%d of them in the day", f.list(window).Total)

	b.Run("detail", func(b *testing.B) {
		var bodies [][]byte
		for _, raw := range f.list(window).List {
			var o struct{ ProgramId, OrderSn string }
			if err := json.Unmarshal(raw, &o); err != nil {
				b.Fatal(err)
			}
			bodies = append(bodies, f.signed(appKey, appSecret, ordersDetail, params{"ProgramId": o.ProgramId, "OrderSn": o.OrderSn}))
		}
		for i := 0; b.Loop(); i++ {
			f.serve(ordersDetail, bodies[i%len(bodies)])
		}
	})
	for _, number := range []int{1, 50, 250, 500} {
		b.Run("page="+strconv.Itoa(number), func(b *testing.B) {
			window["Page"] = number
			if len(f.list(window).List) == 0 {
				b.Skip("the day has fewer pages")
			}
			body := f.signed(appKey, appSecret, ordersQuery, window)
			for b.Loop() {
				b.SetBytes(int64(f.serve(ordersQuery, body)))
			}
		})
	}
}

func BenchmarkSeed(b *testing.B) {
	for b.Loop() {
		open(b, nil).simulator(network.SimulatorConfig{Seed: 1}, 20_000)
	}
}

func BenchmarkStep(b *testing.B) {
	f := open(b, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 1}, 20_000)
	for b.Loop() {
		if err := sim.Step(b.Context(), 500); err != nil {
			b.Fatal(err)
		}
	}
}
