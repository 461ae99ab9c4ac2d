package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, status(http.StatusNoContent))
	e := endpoint(t, r.URL+"/in?token=t", func(c *Config) {
		c.Headers = map[string]string{"authorization": "Bearer abc", "X-Team": "orders"}
	})
	at := time.Unix(1772352000, 999)
	e.now = func() time.Time { return at }
	sent := entry(t, 2)
	deliver(t, e, sent)

	got := r.deliveries()[0].header
	for name, want := range map[string]string{
		"Webhook-Id": sent.Event.ID, "Webhook-Timestamp": "1772352000", "Content-Type": "application/json",
		"User-Agent": userAgent, "Authorization": "Bearer abc", "X-Team": "orders", "Accept-Encoding": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: got %q, want %q", name, got.Get(name), want)
		}
	}
	if !strings.HasPrefix(userAgent, "Orderwire/") {
		t.Errorf("User-Agent is %q", userAgent)
	}
}

func TestEveryAttemptHasTheSameBody(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if attempts.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	e := endpoint(t, r.URL)
	at := time.Unix(1772352000, 0)
	e.now = func() time.Time { at = at.Add(time.Minute); return at }
	sent := entry(t, 2)
	var errs int
	for range 3 {
		if err := e.Deliver(t.Context(), sent); err != nil {
			errs++
		}
	}
	got := r.deliveries()
	if errs != 2 || len(got) != 3 {
		t.Fatalf("%d errors in %d attempts", errs, len(got))
	}
	for _, d := range got[1:] {
		if !bytes.Equal(d.body, got[0].body) {
			t.Error("the body differs between attempts")
		}
		if d.header.Get(HeaderID) != got[0].header.Get(HeaderID) {
			t.Error("the id differs between attempts")
		}
		if d.header.Get(HeaderTimestamp) == got[0].header.Get(HeaderTimestamp) {
			t.Error("the timestamp is not that of the attempt")
		}
	}
	if s := e.Stats(); s != (Stats{Delivered: 1, Failed: 2}) {
		t.Errorf("stats %+v", s)
	}
}

func TestOnlySuccessIsSuccess(t *testing.T) {
	t.Parallel()
	for code, ok := range map[int]bool{200: true, 201: true, 204: true, 299: true, 301: false, 304: false, 400: false, 404: false, 410: false, 429: false, 500: false, 503: false} {
		r := newReceiver(t, status(code))
		err := endpoint(t, r.URL).Deliver(t.Context(), entry(t, 1))
		var failed *DeliveryError
		switch {
		case ok && err != nil:
			t.Errorf("%d: %v", code, err)
		case !ok && !errors.As(err, &failed):
			t.Errorf("%d: got %v, want a *DeliveryError", code, err)
		case !ok && failed.StatusCode != code:
			t.Errorf("%d: the error says %d", code, failed.StatusCode)
		case !ok && failed.Permanent() != (code == http.StatusGone):
			t.Errorf("%d: permanent is %t", code, failed.Permanent())
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	target := newReceiver(t, status(http.StatusOK))
	for _, location := range []string{target.URL, "http://169.254.169.254/latest", ":no url", ""} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		err := endpoint(t, r.URL).Deliver(t.Context(), entry(t, 1))
		var failed *DeliveryError
		if !errors.As(err, &failed) || failed.StatusCode != http.StatusTemporaryRedirect {
			t.Errorf("location %q: got %v", location, err)
		}
	}
	if n := len(target.deliveries()); n != 0 {
		t.Errorf("the target got %d requests", n)
	}
}

func TestEndlessAnswerIsBounded(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 1)
	tests := map[string]http.HandlerFunc{
		"fast": func(w http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					break
				}
			}
			gone <- struct{}{}
		},
		"stalled": func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
			gone <- struct{}{}
		},
	}
	for name, handler := range tests {
		r := newReceiver(t, handler)
		e := endpoint(t, r.URL)
		e.answerTime = 50 * time.Millisecond
		if err := e.Deliver(t.Context(), entry(t, 1)); err != nil {
			t.Errorf("%s: the answer 200 had come, but: %v", name, err)
		}
		<-gone // the connection was closed
	}
}

func TestAnswerIsReadSoThatTheConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var connections sync.Map
	r := newReceiver(t, func(w http.ResponseWriter, req *http.Request) {
		connections.Store(req.RemoteAddr, true)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 60<<10))
	})
	e := endpoint(t, r.URL)
	for range 5 {
		var failed *DeliveryError
		if err := e.Deliver(t.Context(), entry(t, 1)); !errors.As(err, &failed) || len(failed.Answer) != excerptBytes {
			t.Fatalf("got %v, want the beginning of the answer", err)
		}
	}
	n := 0
	connections.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("5 attempts took %d connections", n)
	}
}

func TestSilentReceiverEndsAtTheTimeout(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	e := endpoint(t, r.URL, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	err := e.Deliver(t.Context(), entry(t, 1))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("got %v", err)
	}
	if s := e.Stats(); s != (Stats{Failed: 1}) {
		t.Errorf("stats %+v", s)
	}
}

func TestCallersEndIsNoFailureOfTheReceiver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		cancel()
		<-req.Context().Done()
	})
	e := endpoint(t, r.URL)
	if err := e.Deliver(ctx, entry(t, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s := e.Stats(); s != (Stats{}) {
		t.Errorf("stats %+v", s)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*Config)
		want bool
	}{
		{"all", func(*Config) {}, true},
		{"event", func(c *Config) { c.Events = []schema.EventType{schema.OrderVanished, schema.StatusChanged} }, true},
		{"other event", func(c *Config) { c.Events = []schema.EventType{schema.OrderCreated} }, false},
		{"account", func(c *Config) { c.Accounts = []string{"main"} }, true},
		{"other account", func(c *Config) { c.Accounts = []string{"second"} }, false},
		{"program", func(c *Config) { c.Programs = []string{"1", "77"} }, true},
		{"other program", func(c *Config) { c.Programs = []string{"7"} }, false},
		{"account but not program", func(c *Config) { c.Accounts, c.Programs = []string{"main"}, []string{"7"} }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReceiver(t, status(http.StatusOK))
			e := endpoint(t, r.URL, tt.edit)
			deliver(t, e, entry(t, 2))
			want := Stats{Delivered: 1}
			if !tt.want {
				want = Stats{Filtered: 1}
			}
			if got := e.Stats(); got != want || uint64(len(r.deliveries())) != want.Delivered {
				t.Errorf("stats %+v and %d deliveries, want %+v", got, len(r.deliveries()), want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, " 120 ": 2 * time.Minute, "3600": time.Hour, "86400": time.Hour,
		"99999999999999999999999": time.Hour, "-5": 0, "1.5": 0, "soon": 0,
		"Sun, 01 Mar 2026 08:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 07:00:00 GMT": 0,
		"Mon, 01 Mar 2027 08:00:00 GMT": time.Hour,
	} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		e := endpoint(t, r.URL)
		e.now = func() time.Time { return now }
		var failed interface{ RetryAfter() time.Duration }
		if err := e.Deliver(t.Context(), entry(t, 1)); !errors.As(err, &failed) || failed.RetryAfter() != want {
			t.Errorf("Retry-After %q: got %v, want %v", value, err, want)
		}
	}
}
