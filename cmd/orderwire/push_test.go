package main_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/network"
)

// pushWait is how long a test waits for an event. What is promised is in
// pushLimit.
const (
	pushWait  = 20 * time.Second
	pushLimit = 200 * time.Millisecond
)

// pushWorld is a network that pushes into a line that has polled once, and will
// not for an hour.
type pushWorld struct {
	*world
	lists  atomic.Int64 // answers to lists of orders
	closed atomic.Bool  // lists are refused from now on
	db     *sql.DB      // of the network, to look at
	run    *process
	events <-chan *message.Message
}

func newPushWorld(tb testing.TB, orders int64) *pushWorld {
	tb.Helper()
	w := &pushWorld{}
	w.world = newWorld(tb, worldConfig{orders: orders, yaml: "postback: {listen: '127.0.0.1:0'}\n", handler: w.count})
	w.replace(tb, "every: 300ms", "every: 1h")
	w.replace(tb, "    poll:", "    push: true\n    poll:")
	succeed(tb, "run", "-c", w.config, "--once")
	var err error
	if w.db, err = sql.Open("sqlite", filepath.Join(w.dir, "network.db")); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.db.Close() })

	w.run = launch(tb, "run", "-c", w.config)
	address := w.run.pushAddress(tb)
	w.closed.Store(true) // from here on, nothing of an order comes by a poll
	w.push(tb, address)
	w.follow(tb)
	return w
}

// count counts and refuses the lists of orders.
func (w *pushWorld) count(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".orders.query.get") {
			if w.closed.Load() {
				http.Error(rw, "", http.StatusServiceUnavailable)
				return
			}
			w.lists.Add(1)
		}
		h.ServeHTTP(rw, r)
	})
}

// push tells the network the line's address, and lets it send.
func (w *pushWorld) push(tb testing.TB, address string) {
	tb.Helper()
	if err := w.service.SetPushTarget(tb.Context(), testKey, address); err != nil {
		tb.Fatal(err)
	}
	pusher, err := w.service.Pusher(network.PusherConfig{AllowPrivate: true})
	if err != nil {
		tb.Fatal(err)
	}
	if err := pusher.Test(tb.Context(), testKey); err != nil {
		tb.Fatalf("test push: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pusher.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}

// follow reads the events that come from now on, as any subscriber does.
func (w *pushWorld) follow(tb testing.TB) {
	tb.Helper()
	url, err := os.ReadFile(filepath.Join(w.dir, "data", "nats.url"))
	if err != nil {
		tb.Fatal(err)
	}
	l, err := jetstream.Open(tb.Context(), jetstream.Config{URL: strings.TrimSpace(string(url)), ReadOnly: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	last, err := l.Last(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if w.events, err = l.Follow(tb.Context(), last); err != nil {
		tb.Fatal(err)
	}
}

// settle moves orders until one that the network pushes has moved, and returns
// its number, its status and when that was committed.
func (w *pushWorld) settle(tb testing.TB) (sn, status string, at time.Time) {
	tb.Helper()
	for {
		w.step(tb, 1)
		at = time.Now()
		var reason string
		err := w.db.QueryRowContext(tb.Context(), `SELECT o.order_sn, h.status, h.reason FROM order_history h
			JOIN orders o ON o.id = h.order_id ORDER BY h.seq DESC LIMIT 1`).Scan(&sn, &status, &reason)
		if err != nil {
			tb.Fatal(err)
		}
		if strings.HasPrefix(reason, "settlement: ") && strings.Contains(reason, " to ") {
			return sn, status, at
		}
	}
}

// next waits for the event of an order.
func (w *pushWorld) next(tb testing.TB) schema.Event {
	tb.Helper()
	select {
	case msg := <-w.events:
		e, err := pipeline.ReadEntry(msg)
		if err != nil {
			tb.Fatal(err)
		}
		return e.Event
	case <-time.After(pushWait):
		tb.Fatal("no event comes")
		return schema.Event{}
	}
}

// A change of an order's state is in the log within 200 ms. It came by the push:
// the poll comes in an hour, and the network answers no list.
func TestPushToLog(t *testing.T) {
	w := newPushWorld(t, 300)
	lists := w.lists.Load()
	var took []time.Duration
	for range 20 {
		sn, status, at := w.settle(t)
		e := w.next(t)
		took = append(took, time.Since(at))
		o := &e.Data.Order
		if o.OrderSn.String() != sn || o.Status.String() != status || e.Type != schema.StatusChanged {
			t.Fatalf("%s of order %s, status %s; want %s, status %s", e.Type, o.OrderSn, o.Status, sn, status)
		}
	}
	slices.Sort(took)
	t.Logf("from commit to event: %s to %s", took[0], took[len(took)-1])
	if most := took[len(took)*9/10]; most > pushLimit { // the machine may be busy with something else once
		t.Errorf("one event in ten took %s or more, the limit is %s", most, pushLimit)
	}
	if n := w.lists.Load(); n != lists {
		t.Errorf("%d lists of orders were answered meanwhile", n-lists)
	}
	targets, err := w.service.PushTargets(t.Context())
	if err != nil || len(targets) != 1 || targets[0].GivenUp != 0 {
		t.Errorf("%+v, %v", targets, err)
	}
	w.run.terminate(t)
	w.closed.Store(false)
	succeed(t, "run", "-c", w.config, "--once") // tells of the orders whose lines alone have moved
	if got := len(w.agree(t)); got != 300 {
		t.Errorf("%d orders", got)
	}
}

// BenchmarkPushToLog measures from the commit of a change in the network's
// database to its event at a subscriber of the log: push, signature, signed
// detail request, comparison, synced publication. Network and subscriber share
// this process, the line and its server are another one.
func BenchmarkPushToLog(b *testing.B) {
	w := newPushWorld(b, 20_000)
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		sn, _, at := w.settle(b)
		b.StartTimer()
		if e := w.next(b); e.Data.Order.OrderSn.String() != sn {
			b.Fatalf("order %s, want %s", e.Data.Order.OrderSn, sn)
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	quantile := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(quantile(0.5), "p50-ms")
	b.ReportMetric(quantile(0.99), "p99-ms")
}

// The subcommands of network push work on the database beside a service.
func TestNetworkPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 10})
	db := filepath.Join(w.dir, "network.db")
	push := func(args ...string) (string, string, int) {
		return orderwire(t, "", append([]string{"network", "push", "--db", db}, args...)...)
	}
	refused := w.server.URL + "/" + testKey + "/svc.x" // answers, but not with 1
	if _, errs, code := push("set", "--app-key", testKey, "--url", refused); code != 1 || !strings.Contains(errs, "the address is stored, but the test push was not sent") || !strings.Contains(errs, "--allow-private") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if _, errs, code := push("test", "--app-key", testKey, "--allow-private"); code != 1 || !strings.Contains(errs, "the test push was not received: the answer is none of 1, 0 and -1") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	out, errs, code := push("list", "-o", "json")
	var l struct{ Targets []network.PushTarget }
	if err := json.Unmarshal([]byte(out), &l); err != nil || code != 0 || len(l.Targets) != 1 || l.Targets[0].URL != refused || l.Targets[0].AppKey != testKey {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if out, _, code := push("list"); code != 0 || !strings.Contains(out, refused) || strings.Contains(out, testSecret) {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"set", "--app-key", testKey, "--url", "ftp://x"}, 2, "URL: write it like https://"},
		{[]string{"set", "--app-key", "nobody", "--url", refused}, 2, "no publisher uses this App Key"},
		{[]string{"list", "--db", "nowhere.db"}, 2, "--db: there is no such file"},
		{[]string{"remove", "--app-key", testKey}, 0, ""},
		{[]string{"remove", "--app-key", testKey}, 1, "the publisher has no address for pushes"},
	} {
		if _, errs, code := push(tt.args...); code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%v: exit code %d\n%s", tt.args, code, errs)
		}
	}
}

// orderwire network sends pushes to the address of its flag, a test push among
// them.
func TestNetworkPushURL(t *testing.T) {
	t.Parallel()
	came := make(chan map[string]any, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var push map[string]any
		if err := json.NewDecoder(r.Body).Decode(&push); err != nil {
			t.Errorf("a push is no JSON: %v", err)
		}
		io.WriteString(rw, "0")
		select {
		case came <- push:
		default: // enough have come
		}
	}))
	t.Cleanup(receiver.Close)
	p := launch(t, "network", "--app-key", testKey, "--app-secret", testSecret, "--listen", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "n.db"),
		"--orders", "300", "--speed", "100000", "--push-url", receiver.URL+"/push", "--push-allow-private")
	p.log.await(t, "the test push was received")
	tests, orders := 0, 0
	for tests == 0 || orders < 5 {
		select {
		case push := <-came:
			switch {
			case push["Test"] == "1":
				tests++
			case push["OrderSn"] != nil && push["Status"] != "0": // no order is new
				orders++
			default:
				t.Errorf("%v", push)
			}
		case <-time.After(pushWait):
			t.Fatalf("%d test pushes and %d others have come", tests, orders)
		}
	}
	p.terminate(t)
	_, errs, code := orderwire(t, "", "network", "--app-key", testKey, "--app-secret", testSecret, "--listen", "127.0.0.1:0",
		"--db", filepath.Join(t.TempDir(), "n.db"), "--push-url", "here")
	if code != 2 || !strings.Contains(errs, "--push-url: network: URL: write it like https://") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
