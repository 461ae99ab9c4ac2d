package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// hook is a receiver of webhooks that holds every delivery to its signature
// and remembers the first arrivals.
type hook struct {
	server   *httptest.Server
	secret   string
	refusing atomic.Bool // answers 403
	mu       sync.Mutex
	arrived  map[string]bool   // by event id
	versions map[string]uint64 // last version that arrived, by order
	twice    int
	wrong    []string
}

func newHook(tb testing.TB) *hook {
	tb.Helper()
	h := &hook{secret: webhook.NewSecret(), arrived: make(map[string]bool), versions: make(map[string]uint64)}
	verifier, err := webhook.NewVerifier(h.secret)
	if err != nil {
		tb.Fatal(err)
	}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if h.refusing.Load() {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		if err == nil {
			err = verifier.Verify(r.Header, body, time.Now())
		}
		if err == nil {
			err = h.take(r.Header.Get("webhook-id"), body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	tb.Cleanup(h.server.Close)
	return h
}

// yaml is the endpoint's configuration.
func (h *hook) yaml() string {
	return fmt.Sprintf("webhooks:\n  - {name: partner, url: '%s', secret: '%s', allow_private: true, retry: [100ms, 200ms, 1s]}\n", h.server.URL, h.secret)
}

func (h *hook) take(id string, body []byte) error {
	var m struct {
		Type string `json:"type"`
		Data struct {
			ID      string       `json:"id"`
			Account string       `json:"account"`
			Version uint64       `json:"version"`
			Order   schema.Order `json:"order"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	if m.Type == webhook.TestType {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.arrived[id] {
		h.twice++
		return nil
	}
	h.arrived[id] = true
	key := m.Data.Order.Key(m.Data.Account).String()
	if h.versions[key]++; h.versions[key] != m.Data.Version || id != m.Data.ID {
		h.wrong = append(h.wrong, fmt.Sprintf("%s: version %d arrives as number %d", key, m.Data.Version, h.versions[key]))
	}
	return nil
}

// check holds the arrivals to the log: everything at least once, and the first
// arrivals of an order in order.
func (h *hook) check(tb testing.TB, events []schema.Event) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		if !h.arrived[e.ID] {
			tb.Fatalf("event %s never arrived", e.ID)
		}
	}
	if len(h.arrived) != len(events) || len(h.wrong) > 0 {
		tb.Errorf("%d of %d events arrived, out of order: %v", len(h.arrived), len(events), h.wrong)
	}
	tb.Logf("%d events arrived, %d of them more than once", len(h.arrived), h.twice)
}
