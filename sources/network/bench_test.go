package network_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// benchOrders is how many orders the benchmarks store.
func benchOrders() int64 {
	if testing.Short() {
		return 20_000
	}
	return 1_000_000
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

// spent is the processor time of the process so far, for all its threads.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perOrder runs fn, which returns how many orders it handled, and reports the
// time and the processor time that an order took.
func perOrder(b *testing.B, fn func(i int) int) {
	orders, before := 0, spent(b)
	for i := 0; b.Loop(); i++ {
		orders += fn(i)
	}
	if orders > 0 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(orders), "ns/order")
		b.ReportMetric(float64((spent(b)-before).Nanoseconds())/float64(orders), "cpu-ns/order")
	}
}

// busyDay is a service whose orders, benchOrders of them, all changed within
// the last day, and the request for a page of that day.
func busyDay(b *testing.B) (f *fixture, sim *network.Simulator, page func(number int) []byte, pages int) {
	f = start(b, nil)
	begun := time.Now()
	orders := benchOrders()
	sim = f.simulator(network.SimulatorConfig{Seed: 1, History: 24 * time.Hour}, orders)
	b.Logf("%d orders made in %s, load average %s", orders, time.Since(begun).Round(time.Millisecond), loadAverage())
	now := f.clock.unix.Load()
	page = func(number int) []byte {
		return f.signed(appKey, appSecret, ordersQuery, params{"Stime": now - 86400, "Etime": now, "PageSize": 200, "Page": number})
	}
	pages = int(f.list(params{"Stime": now - 86400, "Etime": now}).Total+199) / 200
	return f, sim, page, pages
}

func BenchmarkService(b *testing.B) {
	f, sim, page, pages := busyDay(b)
	f.benchLoad(b, pages)
	now := f.clock.unix.Load()
	b.Run("detail", func(b *testing.B) {
		var bodies [][]byte
		for _, raw := range f.list(params{"Stime": now - 86400, "Etime": now, "PageSize": 200}).List {
			var o struct{ ProgramId, OrderSn string }
			if err := json.Unmarshal(raw, &o); err != nil {
				b.Fatal(err)
			}
			bodies = append(bodies, f.signed(appKey, appSecret, ordersDetail, params{"ProgramId": o.ProgramId, "OrderSn": o.OrderSn}))
		}
		perOrder(b, func(i int) int { f.serve(ordersDetail, bodies[i%len(bodies)]); return 1 })
	})
	b.Run("empty page", func(b *testing.B) {
		body := f.signed(appKey, appSecret, ordersQuery, params{"Stime": now + 3600, "Etime": now + 7200})
		perOrder(b, func(int) int { f.serve(ordersQuery, body); return 0 })
	})
	for _, number := range []int{1, 50, 250, 500} {
		if number > pages {
			continue
		}
		b.Run("page="+strconv.Itoa(number), func(b *testing.B) {
			body := page(number)
			perOrder(b, func(int) int { b.SetBytes(int64(f.serve(ordersQuery, body))); return 200 })
		})
	}
	// The pages of the day one after the other, as a poller takes them.
	b.Run("day", func(b *testing.B) {
		perOrder(b, func(i int) int { f.serve(ordersQuery, page(i%pages+1)); return 200 })
	})
	b.Run("day over HTTP", func(b *testing.B) {
		perOrder(b, func(i int) int {
			res, err := http.Post(f.server.URL+"/"+appKey+"/"+ordersQuery, "application/json", bytes.NewReader(page(i%pages+1)))
			if err != nil {
				b.Fatal(err)
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Fatal(err)
			}
			return 200
		})
	})
	// An order changes between any two pages; the time of that is included.
	b.Run("day of changes", func(b *testing.B) {
		perOrder(b, func(i int) int {
			if err := sim.Step(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
			f.serve(ordersQuery, page(i%pages+1))
			return 200
		})
	})
}

func BenchmarkSeed(b *testing.B) {
	perOrder(b, func(int) int {
		open(b, nil).simulator(network.SimulatorConfig{Seed: 1}, 20_000)
		return 20_000
	})
}

func BenchmarkStep(b *testing.B) {
	f := open(b, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 1}, 20_000)
	perOrder(b, func(int) int {
		if err := sim.Step(b.Context(), 500); err != nil {
			b.Fatal(err)
		}
		return 500
	})
}
