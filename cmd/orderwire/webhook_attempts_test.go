package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sinks/webhook"
)

// reluctant refuses every delivery twice, with an answer that a terminal would act
// on, and then takes it.
type reluctant struct {
	mu    sync.Mutex
	tries map[string]int
	taken chan string // ids
}

func (r *reluctant) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := req.Header.Get("webhook-id")
	r.mu.Lock()
	r.tries[id]++
	n := r.tries[id]
	r.mu.Unlock()
	if n <= 2 {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "\x1b[2Jnot yet: %d", n)
		return
	}
	r.taken <- id
}

// listed is an attempt as the command prints it.
type listed struct {
	At       time.Time `json:"at"`
	Duration float64   `json:"duration_ms"`
	Endpoint string    `json:"endpoint"`
	Account  string    `json:"account"`
	Order    string    `json:"order"`
	Event    string    `json:"event"`
	Number   int       `json:"attempt"`
	Outcome  string    `json:"outcome"`
	Status   int       `json:"status"`
	Reason   string    `json:"reason"`
	Answer   string    `json:"answer"`
	Next     time.Time `json:"next"`
}

func attempts(tb testing.TB, w *world, args ...string) (all []listed) {
	tb.Helper()
	out := succeed(tb, append([]string{"webhook", "attempts", "-c", w.config, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// A receiver refuses each of three events twice and then takes it. The attempts are
// listed beside the running process and after its end, by every criterion. A second
// endpoint wants nothing, and nothing is attempted there.
func TestWebhookAttempts(t *testing.T) {
	t.Parallel()
	r := &reluctant{tries: make(map[string]int), taken: make(chan string, 100)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	secret := webhook.NewSecret()
	w := newWorld(t, worldConfig{orders: 3, yaml: fmt.Sprintf(`webhooks:
  - {name: partner, url: '%[1]s', secret: '%[2]s', allow_private: true, retry: [50ms, 100ms, 1s]}
  - {name: nobody, url: '%[1]s', secret: '%[2]s', allow_private: true, events: [order.vanished]}
`, server.URL, secret)})
	before := time.Now().Truncate(time.Second)
	p := launch(t, "run", "-c", w.config)
	for range 3 {
		select {
		case <-r.taken:
		case <-p.done:
			t.Fatal("the process ended by itself")
		case <-time.After(time.Minute):
			t.Fatal("it is not delivered")
		}
	}
	var all []listed
	for deadline := time.Now().Add(30 * time.Second); len(all) < 9 && time.Now().Before(deadline); {
		all = attempts(t, w, "--answer")
	}
	checkAttempts(t, all, server.URL)
	p.terminate(t)
	if again := attempts(t, w, "--answer"); !slices.Equal(again, all) {
		t.Errorf("after the end: %+v\nbefore: %+v", again, all)
	}
	one := all[0]
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"partner"}, 9},
		{[]string{"nobody"}, 0},
		{[]string{"--order", one.Order}, 3},
		{[]string{"--account", "main", "--event", one.Event, "--outcome", "failed"}, 2},
		{[]string{"--account", "other"}, 0},
		{[]string{"--outcome", "delivered"}, 3},
		{[]string{"--outcome", "given_up"}, 0},
		{[]string{"--since", before.Format(time.RFC3339)}, 9},
		{[]string{"--before", before.Format(time.RFC3339)}, 0},
		{[]string{"--limit", "4"}, 4},
	} {
		got := attempts(t, w, tt.args...)
		if len(got) != tt.want {
			t.Errorf("%v: %d attempts, want %d", tt.args, len(got), tt.want)
		}
		for _, a := range got {
			if a.Answer != "" {
				t.Errorf("%v: an answer that nobody asked for", tt.args)
			}
		}
	}
	table := succeed(t, "webhook", "attempts", "partner", "-c", w.config, "--answer")
	if strings.Count(table, "\n") != 10 || strings.Contains(table, "\x1b") || !strings.Contains(table, `\x1b[2Jnot yet: 2`) ||
		!strings.Contains(table, "main/"+one.Order) && !strings.Contains(table, "/"+one.Order) || !strings.Contains(table, "answer 500 Internal Server Error") {
		t.Errorf("the table:\n%s", table)
	}
	for _, args := range [][]string{{"a", "b"}, {"--outcome", "lost"}, {"--limit", "0"}, {"--since", "now"}} {
		if _, errs, code := orderwire(t, "", append([]string{"webhook", "attempts", "-c", w.config}, args...)...); code != 2 || errs == "" {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
}

// checkAttempts holds nine attempts, the newest first, to what the receiver did.
func checkAttempts(t *testing.T, all []listed, url string) {
	t.Helper()
	if len(all) != 9 {
		t.Fatalf("%d attempts: %+v", len(all), all)
	}
	next := make(map[string]time.Time) // of the event's attempt before
	number := make(map[string]int)
	for i, a := range slices.Backward(all) {
		number[a.Event]++
		n := number[a.Event]
		if a.Endpoint != "partner" || a.Account != "main" || a.Order == "" || a.Number != n || a.Duration <= 0 || a.At.Before(next[a.Event]) ||
			i > 0 && all[i-1].At.Before(a.At) {
			t.Errorf("attempt %d: %+v", i, a)
		}
		next[a.Event] = a.Next
		if n == 3 {
			if a.Outcome != "delivered" || a.Status != 200 || !a.Next.IsZero() || a.Reason != "" {
				t.Errorf("the last attempt: %+v", a)
			}
			continue
		}
		if a.Outcome != "failed" || a.Status != 500 || a.Answer != fmt.Sprintf("\x1b[2Jnot yet: %d", n) || a.Reason != "answer 500 Internal Server Error" ||
			!a.Next.After(a.At) || strings.Contains(a.Reason, url) {
			t.Errorf("attempt %d of its event: %+v", n, a)
		}
	}
}
