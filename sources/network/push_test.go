package network

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
)

const pushSecret = "s3cr3t"

// pushed is a push as it came.
type pushed struct {
	path   string
	body   []byte
	at     time.Time
	fields map[string]any
}

func (p pushed) text(name string) string {
	if v, given := p.fields[name]; given {
		return fmt.Sprint(v)
	}
	return ""
}

// pushReceiver takes pushes and answers as the test says.
type pushReceiver struct {
	*httptest.Server
	pushes chan pushed

	mu     sync.Mutex
	answer http.HandlerFunc // nil for "1"
}

func newPushReceiver(t *testing.T, answer http.HandlerFunc) *pushReceiver {
	t.Helper()
	r := &pushReceiver{pushes: make(chan pushed, 1000), answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p := pushed{path: req.URL.EscapedPath(), at: time.Now()}
		p.body, _ = io.ReadAll(req.Body)
		if err := json.Unmarshal(p.body, &p.fields); err != nil {
			t.Errorf("a push is no JSON object: %v", err)
		}
		r.mu.Lock()
		answer := r.answer
		r.mu.Unlock()
		r.pushes <- p
		if answer == nil {
			io.WriteString(w, "1")
			return
		}
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// next waits for a push.
func (r *pushReceiver) next(t *testing.T) pushed {
	t.Helper()
	select {
	case p := <-r.pushes:
		return p
	case <-time.After(20 * time.Second):
		t.Fatal("no push comes")
		return pushed{}
	}
}

// pushWorld is a service with two publishers, "a" and "b".
type pushWorld struct {
	*Service
	file string
}

func openPushWorld(t *testing.T, file string) pushWorld {
	t.Helper()
	svc, err := Open(t.Context(), Config{DB: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	for _, key := range []string{"a", "b"} {
		if err := svc.AddPublisher(t.Context(), Publisher{AppKey: key, AppSecret: pushSecret, Websites: []string{"of " + key}}); err != nil {
			t.Fatal(err)
		}
	}
	return pushWorld{svc, file}
}

// pushDatabase is an empty database.
func pushDatabase(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "network.db")
}

func newPushWorld(t *testing.T) pushWorld {
	t.Helper()
	return openPushWorld(t, pushDatabase(t))
}

func (w pushWorld) target(t *testing.T, key, address string) {
	t.Helper()
	if err := w.SetPushTarget(t.Context(), key, address); err != nil {
		t.Fatal(err)
	}
}

// run sends the pushes until the returned function is called, at the latest
// until the test ends.
func (w pushWorld) run(t *testing.T, config PusherConfig) (stop func()) {
	t.Helper()
	p, err := w.Pusher(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// place makes an order of a publisher and lets it go through states, each in a
// transaction of its own.
func (w pushWorld) place(t *testing.T, key, sn string, states ...schema.SettlementStatus) {
	t.Helper()
	access, err := w.access(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var id int64
	for _, state := range append([]schema.SettlementStatus{schema.Pending}, states...) {
		var o order
		err := w.store.change(t.Context(), func(c *change) (err error) {
			o = order{publisher: access.owner, program: "1042", sn: sn, placed: 1_700_000_000, price: 10_00, commission: 50, currency: "CNY"}
			if id != 0 {
				if o, err = c.order(t.Context(), id); err != nil {
					return err
				}
			}
			if o.status = state; state != schema.Pending {
				o.charge = charge{10_00, 50, "CNY", 1_700_000_123}
			}
			return c.put(t.Context(), &o, []schema.OrderLine{{ItemID: text("1")}}, 1_700_000_200, "test")
		})
		if err != nil {
			t.Fatal(err)
		}
		id = o.id
	}
}

func (w pushWorld) queued(t *testing.T) (n int64) {
	t.Helper()
	if err := w.store.row(t.Context(), `SELECT COUNT(*) FROM push_queue WHERE failed_at IS NULL`, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A publisher is told when an order is created and each time its settlement
// status becomes another one than pending, in that order.
func TestPushOfEveryState(t *testing.T) {
	w, r := newPushWorld(t), newPushReceiver(t, nil)
	w.target(t, "a", r.URL+"/orders/%E7%BA%A2")
	w.run(t, PusherConfig{AllowPrivate: true})
	w.place(t, "b", "SN-B", schema.Confirmed) // has no address
	w.place(t, "a", "SN-1", schema.Pending, schema.Confirmed, schema.Confirmed, schema.Approved, schema.Invalid, schema.Pending, schema.Confirmed)
	for _, want := range []string{"0", "1", "2", "-1", "1"} {
		p := r.next(t)
		if p.text("OrderSn") != "SN-1" || p.text("ProgramId") != "1042" || p.text("Status") != want ||
			p.text("OrdersPrice") != "10.00" || p.text("OrderTime") != "2023-11-15 06:13:20" || p.text("AppKey") != "a" {
			t.Errorf("want Status %s, have %s", want, p.body)
		}
		if _, lines := p.fields["Details"]; lines {
			t.Errorf("order lines in %s", p.body)
		}
		if at, ok := p.fields["Timestamp"].(float64); !ok || time.Since(time.Unix(int64(at), 0)).Abs() > time.Minute {
			t.Errorf("Timestamp in %s", p.body)
		}
		if ok, err := openapi.Verify(pushSecret, "/orders/%E7%BA%A2", p.body, p.text("Sign")); !ok || err != nil || p.path != "/orders/%E7%BA%A2" {
			t.Errorf("%s is not signed for %s: %v", p.body, p.path, err)
		}
	}
	if len(r.pushes) > 0 {
		t.Errorf("one more push: %s", (<-r.pushes).body)
	}
}
