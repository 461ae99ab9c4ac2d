package line_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/metrics"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// figures are the metrics of a scrape, by name and labels.
type figures map[string]float64

func scrape(tb testing.TB, src metrics.Source) figures {
	tb.Helper()
	rec := httptest.NewRecorder()
	metrics.Handler(src, slog.New(slog.DiscardHandler)).ServeHTTP(rec, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody))
	all := make(figures)
	for s := bufio.NewScanner(rec.Body); s.Scan(); {
		at := strings.LastIndexByte(s.Text(), ' ')
		if v, err := strconv.ParseFloat(s.Text()[at+1:], 64); err == nil && !strings.HasPrefix(s.Text(), "#") {
			all[s.Text()[:at]] = v
		}
	}
	return all
}

func (f figures) of(metric, endpoint string) float64 {
	v, ok := f[fmt.Sprintf("orderwire_webhook_%s{endpoint=%q}", metric, endpoint)]
	if !ok {
		return -1
	}
	return v
}

func (f figures) age(endpoint string) float64 {
	return f.of("oldest_undelivered_age_seconds", endpoint)
}

// until scrapes until a condition holds.
func until(tb testing.TB, src metrics.Source, what string, holds func(figures) bool) figures {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		f := scrape(tb, src)
		if holds(f) {
			return f
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("never: %s\n%v", what, f)
		}
	}
}

// started is a running line with endpoints only, and a log that the test writes.
func started(tb testing.TB, endpoints ...string) (*line.Line, func(n int)) {
	tb.Helper()
	text := fmt.Sprintf("data_dir: %q\nwebhooks:\n%s", tb.TempDir(), strings.Join(endpoints, ""))
	c, err := config.Parse("test.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	l, err := line.Open(tb.Context(), c, []line.Role{line.Webhook}, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l, func(n int) {
		e := pipelinetest.Event("main", n, 1)
		m, err := pipeline.NewMessage(&e, 0, 1)
		if err != nil {
			tb.Fatal(err)
		}
		if err := l.Log().Publisher().Publish(pipeline.Topic, []*message.Message{m}...); err != nil {
			tb.Fatal(err)
		}
	}
}

func entry(name, url string) string {
	return fmt.Sprintf("  - {name: %s, url: %q, secret: %s, allow_private: true, retry: [1h]}\n", name, url, webhook.NewSecret())
}

// answering is a receiver with one status; it hangs while hanging is not closed.
func answering(tb testing.TB, status int, hanging <-chan struct{}) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
		w.WriteHeader(status)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// The age of what is owed grows whatever holds an endpoint up: that nobody answers,
// that it is paused, disabled, or hangs in the first attempt; and one that has all is
// owed nothing.
func TestAgeOfTheOldestUndelivered(t *testing.T) {
	t.Parallel()
	free, held := make(chan struct{}), make(chan struct{})
	close(free)
	defer close(held)
	good := answering(t, http.StatusNoContent, free)
	l, publish := started(t,
		entry("good", good), entry("paused", good), entry("down", "http://127.0.0.1:9"),
		entry("gone", answering(t, http.StatusGone, free)), entry("hangs", answering(t, http.StatusNoContent, held)))
	names := []string{"good", "paused", "down", "gone", "hangs"}
	f := until(t, l, "all have begun", func(f figures) bool { return f.age("hangs") == 0 })
	for _, name := range names {
		if f.age(name) != 0 || f.of("up", name) != 1 {
			t.Errorf("%s before the first event: age %g", name, f.age(name))
		}
	}
	if err := l.Endpoints().Pause(t.Context(), "paused", "maintenance"); err != nil {
		t.Fatal(err)
	}
	until(t, l, "the pause is seen", func(f figures) bool { return f[`orderwire_webhook_state{endpoint="paused",state="paused"}`] == 1 })

	publish(1)
	first := until(t, l, "one is disabled, one has parked, one has delivered", func(f figures) bool {
		return f[`orderwire_webhook_state{endpoint="gone",state="disabled"}`] == 1 && f.of("parked_orders", "down") == 1 && f.age("good") == 0
	})
	second := until(t, l, "a second has passed", func(f figures) bool { return f.age("down") > first.age("down")+1 })
	for _, name := range names[1:] {
		if first.age(name) <= 0 || second.age(name) < first.age(name)+0.9 {
			t.Errorf("%s: age %g, then %g", name, first.age(name), second.age(name))
		}
	}
	if second.age("good") != 0 || second[`orderwire_webhook_attempts_total{endpoint="good",outcome="delivered"}`] != 1 {
		t.Errorf("good: %v", second)
	}
	if second.of("up", "paused") != 0 || second.of("up", "hangs") != 1 || second[`orderwire_webhook_attempts_total{endpoint="down",outcome="failed"}`] != 1 {
		t.Errorf("%v", second)
	}
	if err := l.Endpoints().Resume(t.Context(), "paused"); err != nil {
		t.Fatal(err)
	}
	until(t, l, "what was held back is delivered", func(f figures) bool { return f.age("paused") == 0 && f.of("up", "paused") == 1 })
}
