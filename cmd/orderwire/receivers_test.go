package main_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// manner is how a receiver answers a delivery that it has read. It reports
// whether the answer says that it took it.
type manner func(w http.ResponseWriter, r *http.Request) (taken bool)

// takes answers 204.
func takes(w http.ResponseWriter, _ *http.Request) bool {
	w.WriteHeader(http.StatusNoContent)
	return true
}

// failing answers with a failure so many times in a hundred.
func failing(percent int) manner {
	statuses := []int{http.StatusInternalServerError, http.StatusNotFound, http.StatusForbidden, http.StatusFound}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if rand.IntN(100) >= percent {
			return takes(w, r)
		}
		w.WriteHeader(statuses[rand.IntN(len(statuses))])
		return false
	}
}

// sometimes answers in another manner one time in so many.
func sometimes(other manner, in int) manner {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if rand.IntN(in) == 0 {
			return other(w, r)
		}
		return takes(w, r)
	}
}

// unavailable asks for a pause.
func unavailable(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	return false
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return false
}

// cuts closes the connection without an answer, or in the middle of its head.
func cuts(w http.ResponseWriter, _ *http.Request) bool {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	if rand.IntN(2) == 0 {
		_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Le")
		_ = buf.Flush()
	}
	return false
}

// cutsBody closes the connection behind the head of an answer that says that more
// follows. The head is the verdict.
func cutsBody(w http.ResponseWriter, _ *http.Request) bool {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of")
	return buf.Flush() == nil
}

// trickles answers byte by byte, and waits between two of them.
func trickles(w http.ResponseWriter, r *http.Request) bool {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok") {
		if buf.WriteByte(b) != nil || buf.Flush() != nil {
			return false
		}
		select {
		case <-pause.C:
		case <-r.Context().Done():
			return false
		}
	}
	return true
}

// outlet is a receiver that holds every delivery to its signature, answers in
// its manner, and remembers what arrived. An arrival is a delivery that was read,
// whatever the answer.
type outlet struct {
	name    string
	secret  string
	manner  manner
	server  *httptest.Server
	arrival func(id string) // told of each delivery taken, nil for nobody

	mu       sync.Mutex
	bodies   map[string]string // by event id, as it first arrived
	taken    map[string]int    // how often an event was taken, by its id
	versions map[string]uint64 // newest version that arrived, by order
	attempts int
	wrong    []string
	more     chan struct{} // told when something was taken
}

func newOutlet(tb testing.TB, name string, m manner) *outlet {
	tb.Helper()
	o := &outlet{name: name, manner: m, secret: webhook.NewSecret(), more: make(chan struct{}, 1)}
	o.forget()
	verifier, err := webhook.NewVerifier(o.secret)
	if err != nil {
		tb.Fatal(err)
	}
	o.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender was killed
		}
		if err = verifier.Verify(r.Header, body, time.Now()); err != nil {
			o.complain(err.Error())
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id := r.Header.Get(webhook.HeaderID)
		o.arrives(id, body)
		if o.manner(w, r) {
			o.takes(id)
		}
	}))
	o.server.Config.ErrorLog = nil
	return o
}

// listen has the outlet at a certain address.
func (o *outlet) listen(tb testing.TB, address string) {
	tb.Helper()
	var err error
	if o.server.Listener, err = (&net.ListenConfig{}).Listen(tb.Context(), "tcp", address); err != nil {
		tb.Fatal(err)
	}
}

// start begins to take deliveries.
func (o *outlet) start(tb testing.TB) {
	tb.Helper()
	o.server.Start()
	tb.Cleanup(o.server.Close)
}

// yaml is the outlet's entry of the configuration.
func (o *outlet) yaml(more string) string {
	return fmt.Sprintf("  - {name: %s, url: 'http://%s', secret: '%s', allow_private: true%s}\n", o.name, o.server.Listener.Addr(), o.secret, more)
}

func (o *outlet) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bodies, o.taken, o.versions = make(map[string]string), make(map[string]int), make(map[string]uint64)
	o.attempts, o.wrong = 0, nil
}

func (o *outlet) complain(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrong = append(o.wrong, what)
}

// arrives notes an attempt: the first of an event has to be that of its order's
// next version, and all others of the same bytes.
func (o *outlet) arrives(id string, body []byte) {
	var m struct {
		Data struct {
			Account string       `json:"account"`
			Version uint64       `json:"version"`
			Order   schema.Order `json:"order"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		o.complain(err.Error())
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts++
	if first, known := o.bodies[id]; known {
		if first != string(body) {
			o.wrong = append(o.wrong, "event "+id+" came with another body")
		}
		return
	}
	o.bodies[id] = string(body)
	key := m.Data.Order.Key(m.Data.Account).String()
	if o.versions[key]++; o.versions[key] != m.Data.Version {
		o.wrong = append(o.wrong, fmt.Sprintf("%s: version %d arrives as number %d", key, m.Data.Version, o.versions[key]))
	}
}

func (o *outlet) takes(id string) {
	if o.arrival != nil {
		o.arrival(id)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken[id]++
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// count returns the number of different events that were taken.
func (o *outlet) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.taken)
}

// await waits until so many different events were taken.
func (o *outlet) await(tb testing.TB, events int) {
	tb.Helper()
	for o.count() < events {
		select {
		case <-o.more:
		case <-tb.Context().Done():
			return
		}
	}
}

// check holds what arrived to what had to.
func (o *outlet) check(tb testing.TB, ids []string) {
	tb.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	missing, twice := 0, 0
	for _, id := range ids {
		switch n := o.taken[id]; {
		case n == 0:
			missing++
		case n > 1:
			twice++
		}
	}
	if missing > 0 || len(o.taken) != len(ids) {
		tb.Errorf("%s: %d events are missing, %d different ones were taken of %d", o.name, missing, len(o.taken), len(ids))
	}
	if len(o.wrong) > 0 {
		tb.Errorf("%s: %d deliveries were wrong, such as: %s", o.name, len(o.wrong), strings.Join(o.wrong[:min(5, len(o.wrong))], "; "))
	}
	tb.Logf("%s: %d events taken, %d of them more than once, after %d attempts", o.name, len(o.taken), twice, o.attempts)
}

// often is a list of so many equal pauses, for the configuration.
func often(pause time.Duration, times int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(pause.String()+", ", times), ", ") + "]"
}

// number is that of an environment variable, for the size of a test.
func number(tb testing.TB, variable string, otherwise int) int {
	tb.Helper()
	n, err := strconv.Atoi(settingOr(variable, strconv.Itoa(otherwise)))
	if err != nil || n < 1 {
		tb.Fatalf("%s is no number: %v", variable, err)
	}
	return n
}
