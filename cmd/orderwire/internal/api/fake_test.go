package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

var at = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

// fake is all that the service asks. It knows the endpoint "partner/a", notes what it
// was asked to do, and fails with err if that is set.
type fake struct {
	asked   []string
	err     error
	started chan struct{} // told when a report begins, which then waits for the end of its context; nil: neither
	query   endpoints.Query
	takes   time.Duration // of a report
	trouble []line.Trouble
	dead    []line.Trouble
	shelf   // books, events, dead letters and archive
}

const theSecret = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"

func (f *fake) do(name, format string, args ...any) error {
	f.asked = append(f.asked, name+" "+fmt.Sprintf(format, args...))
	switch {
	case f.err != nil:
		return f.err
	case name != "partner/a":
		return fmt.Errorf("webhook %s: %w", name, endpoints.ErrUnknown)
	}
	return nil
}

func view() endpoints.View {
	return endpoints.View{
		Name: "partner/a", URL: "https://example.com", Origin: endpoints.OriginAdded, State: endpoints.StatePaused, Reason: "maintenance", Since: at,
		Created: at, Events: []string{"order.created"}, Timeout: config.Duration(time.Second), RateLimit: 2.5, Signatures: 2, Rotates: at,
		PublicKeys: []string{"whpk_x"},
	}
}

func (f *fake) List(context.Context) ([]endpoints.View, error) {
	return []endpoints.View{view()}, f.err
}

func (f *fake) Get(_ context.Context, name string) (endpoints.View, error) {
	return view(), f.do(name, "get")
}

func (f *fake) Owed(ctx context.Context, name string, _ func(done, total int64)) ([]endpoints.Owed, error) {
	if f.started != nil {
		f.started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if f.takes > 0 {
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	all := []endpoints.Owed{{
		Endpoint: "partner/a", Events: 7, Oldest: &endpoints.OldestOwed{Sequence: 3, Stored: at, Age: 61.5}, ParkedOrders: 2, Last: 99,
		Gap: &endpoints.Gap{From: 1, Until: 2, Events: 2}, State: endpoints.StateBroken, Since: at,
	}}
	if name == "" {
		return append(all, endpoints.Owed{Endpoint: "b", State: endpoints.StateActive}), f.err
	}
	return all, f.do(name, "owed")
}

func (f *fake) Add(_ context.Context, d endpoints.Definition, from endpoints.Start) (endpoints.Secret, error) {
	if d.Name != "partner/a" { // which is there already
		f.asked = append(f.asked, fmt.Sprintf("%s add %s from %v", d.Name, d.URL, from))
		return endpoints.Secret{Name: d.Name, Secret: theSecret}, f.err
	}
	return endpoints.Secret{}, fmt.Errorf("webhook %s: %w", d.Name, endpoints.ErrExists)
}

func (f *fake) Remove(_ context.Context, name string) error { return f.do(name, "remove") }

func (f *fake) Rotate(_ context.Context, name string, o endpoints.RotateOptions) (endpoints.Secret, error) {
	return endpoints.Secret{Name: name, Secret: theSecret, PublicKey: "whpk_x"}, f.do(name, "rotate %+v", o)
}

func (f *fake) Pause(_ context.Context, name, reason string) error {
	return f.do(name, "pause %q", reason)
}

func (f *fake) Resume(_ context.Context, name string) error { return f.do(name, "resume") }

func (f *fake) Test(_ context.Context, name string) (endpoints.TestResult, error) {
	return endpoints.TestResult{ID: "x", Status: 503, Duration: config.Duration(time.Millisecond), Reason: "HTTP 503", Answer: "busy"}, f.do(name, "test")
}

func (f *fake) Release(_ context.Context, name string, key schema.OrderKey, skip bool) error {
	return f.do(name, "release %s %t", key, skip)
}

func (f *fake) attempts(_ context.Context, q endpoints.Query) ([]endpoints.Attempt, error) {
	f.query = q
	return []endpoints.Attempt{{
		At: at, Duration: 12.5, Endpoint: q.Endpoint, Account: "main", Program: "1", Order: "2", Event: "e", Type: "order.created", Version: 1,
		Sequence: 5, Number: 2, Outcome: "failed", Status: 500, Reason: "HTTP 500", Answer: "no\uFFFD", Next: at,
	}}, f.err
}

func (f *fake) Replay(_ context.Context, name string, q replay.Request) (replay.Report, error) {
	report := replay.Report{To: "webhook=" + name, DryRun: q.DryRun, From: q.From, Events: 3, Types: map[schema.EventType]uint64{schema.OrderCreated: 3}}
	if err := q.Check(); err != nil {
		return report, err
	}
	if q.Until == 99 {
		report.Next = 7
		return report, &pipeline.UndeliveredError{Sequence: 7, Attempts: 2, Cause: "HTTP 500"}
	}
	return report, f.do(name, "replay from %d dry %t at %s", q.From, q.DryRun, q.Rate)
}

func (f *fake) Status(context.Context) (line.Status, error) {
	return line.Status{
		At: at, Last: 9, Accounts: []line.Account{{Name: "main", Polls: 1, LastPoll: at, Coverage: line.Coverage{OrderField: "UpdateTime", From: at, Until: at, Gaps: []line.Gap{{From: at, Until: at}}}}},
		Sinks: []line.Sink{
			{Kind: "sink", Name: "archive", Position: 9, Oldest: at, Taken: 7, DeadLetters: 1},
			{Kind: "endpoint", Name: "partner/a", Lag: 9, Delivery: &line.Delivery{State: line.Broken, Oldest: at, Rate: 1}},
		},
	}, f.err
}

func (f *fake) Ready(context.Context) []line.Trouble { return f.trouble }

func (f *fake) Alive(context.Context) []line.Trouble { return f.dead }

var errDown = errors.New("no servers available")

// request is one request to the service.
type request struct {
	method, path, body string
	header             map[string]string
	host               string // localhost by default
	token              string // of the service
	listen             string
	proxied            string // header by which a proxy names people
	from               string // address of the caller, with a port; "" for httptest's
}

// sendPlain serves a request.
func sendPlain(tb testing.TB, f *fake, q request) *httptest.ResponseRecorder {
	tb.Helper()
	req := httptest.NewRequestWithContext(tb.Context(), q.method, "http://localhost"+q.path, strings.NewReader(q.body))
	if q.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	if q.host != "" {
		req.Host = strings.TrimSpace(q.host)
	}
	if q.from != "" {
		req.RemoteAddr = q.from
	}
	rec := httptest.NewRecorder()
	api.New(f.config(q)).ServeHTTP(rec, req)
	if rec.Header().Get("X-Content-Type-Options") != "nosniff" || rec.Header().Get("Cache-Control") != "no-store" {
		tb.Errorf("%s %s: header %v", q.method, q.path, rec.Header())
	}
	return rec
}

// send serves a request of an operation, and holds the answer to the document.
func send(tb testing.TB, f *fake, q request) *httptest.ResponseRecorder {
	tb.Helper()
	rec := sendPlain(tb, f, q)
	if rec.Code >= 400 && !strings.HasSuffix(q.path, "z") && rec.Header().Get("Content-Type") != "application/problem+json" {
		tb.Errorf("%s %s: %d as %s: %s", q.method, q.path, rec.Code, rec.Header().Get("Content-Type"), rec.Body)
	}
	if rec.Code == http.StatusNotFound || rec.Code == http.StatusMethodNotAllowed || q.path == "/" || q.path == "/nothing" || q.path == "/api/v1/nothing" || q.method == http.MethodPut {
		return rec
	}
	req := httptest.NewRequestWithContext(tb.Context(), q.method, "http://localhost"+q.path, strings.NewReader(q.body))
	if q.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := loadContract(tb).check(tb, req, rec); err != nil {
		tb.Errorf("%s %s: HTTP %d: %v\n%.300s", q.method, q.path, rec.Code, err, rec.Body)
	}
	return rec
}
