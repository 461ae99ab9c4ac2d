package network_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// Readers get whole pages and orders while the simulator writes.
func TestReadersAndWriter(t *testing.T) {
	f := start(t, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 1, Speed: 1e5, NewOrdersPerHour: 36_000}, 200)
	f.putProgram(network.TestProgram{ID: "900", Domains: []string{"e.com"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		if err := sim.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	now := f.clock.unix.Load()
	moves := func() int64 {
		p, err := sim.Progress(context.Background())
		if err != nil {
			t.Error(err)
			return 50
		}
		return p.Moves
	}
	for range 3 {
		readers.Go(func() {
			for i := 0; i < 6 || moves() < 50; i++ {
				number := int64(i%5 + 1)
				p := f.list(params{"Stime": now - 3600, "Etime": now + 3600, "PageSize": 50, "Page": number})
				if want := min(max(p.Total-50*(number-1), 0), 50); int64(len(p.List)) != want {
					t.Errorf("page %d: %d records of %d", number, len(p.List), p.Total)
				}
				for _, raw := range p.List[:min(len(p.List), 3)] {
					o := parse(t, raw)
					a := f.call(ordersDetail, params{"ProgramId": o.ProgramID.String(), "OrderSn": o.OrderSn.String()})
					if d := parse(t, a.Data); d.Key("") != o.Key("") {
						t.Errorf("detail of %v is %v", o.Key(""), d.Key(""))
					}
				}
				if a := f.call(linksPost, params{"Url": "https://e.com/" + p.firstID(), "WebsiteId": website}); a.Status != 0 {
					t.Errorf("link: Status %d: %s", a.Status, a.Message)
				}
			}
		})
	}
	readers.Wait()
	cancel()
	writer.Wait()
	if n := f.number(`SELECT COUNT(*) FROM order_history`); n <= 200 {
		t.Error("the simulator did nothing")
	}
}

func (p page) firstID() string {
	if len(p.List) == 0 {
		return "none"
	}
	return string(p.List[0][7:15]) // {"Id":"…
}

// A service with all places taken refuses with HTTP 503 and Retry-After.
func TestOverload(t *testing.T) {
	f := start(t, func(c *network.Config) { c.MaxConcurrent = 1 })
	a, slow := f.overloaded()
	if a.HTTP != http.StatusServiceUnavailable || a.Status != network.StatusOverload || a.header.Get("Retry-After") == "" {
		t.Errorf("HTTP %d, Status %d", a.HTTP, a.Status)
	}
	if slow.Status != network.StatusBody {
		t.Errorf("the slow request: Status %d: %s", slow.Status, slow.Message)
	}
	if a := f.do(http.MethodGet, "/x/y", nil, ""); a.HTTP != http.StatusMethodNotAllowed {
		t.Errorf("afterwards: HTTP %d", a.HTTP)
	}
}

// overloaded returns the answers to a request while another one has the only
// place, and to that slow one.
func (f *fixture) overloaded() (refused, slow answer) {
	f.tb.Helper()
	body := newSlowBody()
	done := make(chan answer)
	go func() { done <- f.do(http.MethodPost, "/"+appKey+"/"+ordersQuery, body, "application/json") }()
	<-body.reading
	// The transport has begun to send; the request has its place once another
	// one is refused.
	deadline := time.Now().Add(10 * time.Second)
	refused = f.do(http.MethodGet, "/x/y", nil, "")
	for refused.HTTP != http.StatusServiceUnavailable && time.Now().Before(deadline) {
		refused = f.do(http.MethodGet, "/x/y", nil, "")
	}
	close(body.finish)
	return refused, <-done
}

// slowBody sends its first half, and the second when it is told to.
type slowBody struct {
	halves          []string
	reading, finish chan struct{}
}

func newSlowBody() *slowBody {
	return &slowBody{halves: []string{"[", "]"}, reading: make(chan struct{}), finish: make(chan struct{})}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.halves) == 1 {
		close(b.reading)
		<-b.finish
	}
	if len(b.halves) == 0 {
		return strings.NewReader("").Read(p)
	}
	n := copy(p, b.halves[0])
	b.halves = b.halves[1:]
	return n, nil
}
