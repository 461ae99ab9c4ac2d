package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
)

const one = "/api/v1/webhooks/partner%2Fa"

// Each operation does what it is asked, and its answer is that of the document.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, path, body string
		code               int
		asked              string // the first thing
		has                string // in the answer
	}{
		{"GET", "/api/v1/status", "", 200, "", `"oldest_undelivered":"2026-11-01T08:00:00Z"`},
		{"GET", "/api/v1/openapi.yaml", "", 200, "", "openapi: 3.1"},
		{"GET", "/api/v1/owed", "", 200, "", `"endpoint":"b"`},
		{"GET", "/api/v1/webhooks", "", 200, "", `{"webhooks":[{"name":"partner/a"`},
		{"POST", "/api/v1/webhooks", `{"name":"new one","url":"https://example.com/x","retry":["1s","5m"],"previous_secrets":["a",{"secret":"b"}]}`, 201, "new one add https://example.com/x from {false 0 0001-01-01 00:00:00 +0000 UTC}", theSecret},
		{"POST", "/api/v1/webhooks", `{"name":"n","url":"u","start":{"sequence":7}}`, 201, "n add u from {false 7 0001-01-01 00:00:00 +0000 UTC}", theSecret},
		{"POST", "/api/v1/webhooks", `{"name":"n","url":"u","start":{"first":true}}`, 201, "n add u from {true 0 0001-01-01 00:00:00 +0000 UTC}", theSecret},
		{"POST", "/api/v1/webhooks", `{"name":"n","url":"u","start":{"time":"2026-11-01T08:00:00Z"}}`, 201, "n add u from {false 0 2026-11-01 08:00:00 +0000 UTC}", theSecret},
		{"GET", one, "", 200, "partner/a get", `"reason":"maintenance"`},
		{"DELETE", one, "", 204, "partner/a remove", ""},
		{"POST", one + "/pause", `{"reason":"why"}`, 200, `partner/a pause "why"`, `"state":"paused"`},
		{"POST", one + "/pause", ``, 200, `partner/a pause ""`, `"state":"paused"`},
		{"POST", one + "/resume", `{}`, 200, "partner/a resume", `"state":"paused"`},
		{"POST", one + "/rotate", `{}`, 200, "partner/a rotate {Keep:0s Finish:false Ed25519:false}", theSecret},
		{"POST", one + "/rotate", `{"keep":"2d","ed25519":true}`, 200, "partner/a rotate {Keep:48h0m0s Finish:false Ed25519:true}", theSecret},
		{"POST", one + "/rotate", `{"until_finish":true}`, 200, "partner/a rotate {Keep:-1ns Finish:false Ed25519:false}", theSecret},
		{"POST", one + "/rotate", `{"finish":true}`, 200, "partner/a rotate {Keep:0s Finish:true Ed25519:false}", "name"},
		{"POST", one + "/test", ``, 200, "partner/a test", `"status":503`},
		{"POST", one + "/release", `{"account":"main","program":"1","order":"2","skip":true}`, 204, "partner/a release main.1.2 true", ""},
		{"GET", one + "/attempts", "", 200, "", "\"answer\":\"no\uFFFD\""},
		{"GET", one + "/owed", "", 200, "partner/a owed", `"age_seconds":61.5`},
		{"POST", one + "/replay", `{"from":5,"until":9,"rate":"50/s","dry_run":true}`, 200, "partner/a replay from 5 dry true at 50/s", `"events":3`},
		{"POST", one + "/replay", `{"failures":true}`, 200, "partner/a replay from 0 dry false at ", `"dry_run":false`},
	} {
		f := &fake{}
		rec := send(t, f, request{method: tt.method, path: tt.path, body: tt.body})
		if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.has) {
			t.Errorf("%s %s %s: HTTP %d: %s", tt.method, tt.path, tt.body, rec.Code, rec.Body)
		}
		if tt.asked != "" && (len(f.asked) == 0 || f.asked[0] != tt.asked) {
			t.Errorf("%s %s %s: asked %q, want %q", tt.method, tt.path, tt.body, f.asked, tt.asked)
		}
		if shown := strings.Contains(rec.Body.String(), "whsec_"); shown != (tt.has == theSecret || strings.Contains(tt.body, "finish\":true") && tt.code == 200 || strings.Contains(tt.path, "yaml")) {
			t.Errorf("%s %s: a secret is shown: %t", tt.method, tt.path, shown)
		}
		if location := rec.Header().Get("Location"); (tt.code == 201) != strings.HasPrefix(location, "/api/v1/webhooks/n") || strings.Contains(location, " ") {
			t.Errorf("%s %s: location %q", tt.method, tt.path, location)
		}
	}
}

// What cannot be done is refused, said so, and not done.
func TestRefusals(t *testing.T) {
	t.Parallel()
	long := `{"reason":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, tt := range []struct {
		method, path, body string
		code               int
		has                string
	}{
		{"GET", "/api/v1/nothing", "", 404, "openapi.yaml"},
		{"GET", "/", "", 404, "openapi.yaml"},
		{"PUT", "/api/v1/webhooks", "", 405, "GET or POST"},
		{"DELETE", "/api/v1/status", "", 405, "use GET"},
		{"GET", "/api/v1/webhooks?state=paused", "", 400, `there is no parameter \"state\"`},
		{"GET", "/api/v1/webhooks/nobody", "", 404, "webhook nobody: there is no such endpoint"},
		{"GET", one + "?x=1", "", 400, "parameter"},
		{"DELETE", "/api/v1/webhooks/nobody", "", 404, "no such endpoint"},
		{"POST", "/api/v1/webhooks", `{"name":"partner/a","url":"u"}`, 409, "exists already"},
		{"POST", "/api/v1/webhooks", `{"name":"n","uri":"u"}`, 400, `there is no field \"uri\"`},
		{"POST", "/api/v1/webhooks", `{"name":"n","timeout":"soon"}`, 400, "is no duration"},
		{"POST", "/api/v1/webhooks", `{"name":"n","timeout":{}}`, 400, "wrong kind"},
		{"POST", "/api/v1/webhooks", `{"name":7}`, 400, "name is of the wrong kind"},
		{"POST", "/api/v1/webhooks", `{"name":"n"`, 400, "no JSON"},
		{"POST", "/api/v1/webhooks", `name=n`, 400, "no JSON"},
		{"POST", "/api/v1/webhooks", `[]`, 400, "wrong kind"},
		{"POST", "/api/v1/webhooks", `{"name":"n"} {}`, 400, "behind the document"},
		{"POST", "/api/v1/webhooks", `{"name":"n","created":"2026-11-01T08:00:00Z"}`, 400, "created cannot be set"},
		{"POST", "/api/v1/webhooks", `{"name":"n","start":{"first":true,"sequence":3}}`, 400, "several things"},
		{"POST", "/api/v1/webhooks/nobody/pause", `{}`, 404, "no such endpoint"},
		{"POST", one + "/pause", `{"because":"x"}`, 400, `no field \"because\"`},
		{"POST", one + "/pause", long, 413, "more than 1048576 bytes"},
		{"POST", "/api/v1/webhooks", strings.Repeat(" ", 2<<20) + "{}", 413, "more than 1048576 bytes"},
		{"POST", "/api/v1/webhooks/nobody/resume", `{}`, 404, "no such endpoint"},
		{"POST", one + "/resume", `{"x":1}`, 400, "no field"},
		{"POST", "/api/v1/webhooks/nobody/rotate", `{}`, 404, "no such endpoint"},
		{"POST", one + "/rotate", `{"finish":true,"keep":"1h"}`, 400, "several things"},
		{"POST", one + "/rotate", `{"finish":true,"ed25519":true}`, 400, "several things"},
		{"POST", one + "/rotate", `{"keep":"-1h"}`, 400, "no duration"},
		{"POST", "/api/v1/webhooks/nobody/test", ``, 404, "no such endpoint"},
		{"POST", one + "/test", `7`, 400, "wrong kind"},
		{"POST", "/api/v1/webhooks/nobody/release", `{"account":"a","order":"b"}`, 404, "no such endpoint"},
		{"POST", one + "/release", `{"account":"a"}`, 400, "order is not named"},
		{"GET", one + "/attempts?limit=0", "", 400, "between 1 and 1000"},
		{"GET", one + "/attempts?limit=1001", "", 400, "between 1 and 1000"},
		{"GET", one + "/attempts?outcome=lost", "", 400, "no such attempts: there is no outcome"},
		{"GET", one + "/attempts?answer=yes", "", 400, "neither true nor false"},
		{"GET", one + "/attempts?since=2026-11-02&before=2026-11-01", "", 400, "ends before it begins"},
		{"GET", one + "/attempts?since=yesterday", "", 400, "since is no time"},
		{"GET", one + "/attempts?order=1&order=2", "", 400, "stands twice"},
		{"GET", one + "/attempts?a%ZZ", "", 400, "cannot be read"},
		{"GET", "/api/v1/webhooks/nobody/owed", "", 404, "no such endpoint"},
		{"GET", one + "/owed?x", "", 400, "no parameter"},
		{"POST", "/api/v1/webhooks/nobody/replay", `{"failures":true}`, 404, "no such endpoint"},
		{"POST", one + "/replay", `{}`, 400, `"say which events: from and until`},
		{"POST", one + "/replay", `{"from":1,"source":"tape"}`, 400, `source: there is no source`},
		{"POST", one + "/replay", `{"from":1,"rate":"fast"}`, 400, `rate: `},
		{"POST", one + "/replay", `{"from":1,"to":"x"}`, 400, `no field \"to\"`},
		{"POST", one + "/replay", `{"from":1,"until":99}`, 502, `"hint":"go on with from: 7"`},
		{"GET", "/api/v1/owed?name=x", "", 400, "no parameter"},
	} {
		f := &fake{}
		rec := send(t, f, request{method: tt.method, path: tt.path, body: tt.body})
		if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.has) {
			t.Errorf("%s %s %.60s: HTTP %d: %.300s", tt.method, tt.path, tt.body, rec.Code, rec.Body)
		}
		if rec.Code != http.StatusNotFound && len(f.asked) > 0 {
			t.Errorf("%s %s %.60s: %q was done", tt.method, tt.path, tt.body, f.asked)
		}
		if (rec.Code == http.StatusMethodNotAllowed) != (rec.Header().Get("Allow") != "") {
			t.Errorf("%s %s: Allow %q", tt.method, tt.path, rec.Header().Get("Allow"))
		}
	}
}

func TestAttemptsQuery(t *testing.T) {
	t.Parallel()
	f := &fake{}
	send(t, f, request{method: "GET", path: one + "/attempts?account=main&program=1&order=SN%201&event=e1&outcome=given_up&since=2026-11-01&before=2026-11-02T00:00:00%2B08:00&limit=7&answer=true"})
	if got, want := fmt.Sprint(f.query), "{partner/a main 1 SN 1 e1 given_up 2026-11-01 00:00:00 +0000 UTC 2026-11-02 00:00:00 +0800 +0800 7 true}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	send(t, f, request{method: "GET", path: one + "/attempts"})
	if f.query.Limit != 100 {
		t.Errorf("%+v", f.query)
	}
}

// Errors of the manager become problems that say what to do.
func TestProblems(t *testing.T) {
	t.Parallel()
	wrong := errors.Join(&config.Error{Path: "url", What: "is no address", Hint: "write https://…"}, &config.Error{Path: "secret", What: "is too short"})
	for _, tt := range []struct {
		err  error
		code int
		has  string
	}{
		{fmt.Errorf("webhook x: %w orderwire.yaml", endpoints.ErrFromFile), 409, "stands in the configuration file orderwire.yaml"},
		{endpoints.ErrBusy, 409, "try again in a minute"},
		{endpoints.ErrNotRunning, 409, "no process delivers"},
		{fmt.Errorf("webhook x: order a.b.c: %w", pipeline.ErrNotParked), 409, "order a.b.c"},
		{endpoints.ErrStart, 422, "cannot begin there"},
		{fmt.Errorf("webhook x: %w", wrong), 422, `"errors":[{"field":"url","detail":"is no address","hint":"write https://…"},{"field":"secret","detail":"is too short"}]`},
		{errDown, 503, "no servers available"},
	} {
		for _, q := range []request{
			{method: "POST", path: "/api/v1/webhooks", body: `{"name":"n","url":"u"}`},
			{method: "DELETE", path: one},
			{method: "POST", path: one + "/release", body: `{"account":"a","order":"b"}`},
		} {
			rec := send(t, &fake{err: tt.err}, q)
			if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.has) || !strings.Contains(rec.Body.String(), `"hint"`) {
				t.Errorf("%v: HTTP %d: %s", tt.err, rec.Code, rec.Body)
			}
		}
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/webhooks", one + "/attempts", "/api/v1/owed"} {
		if rec := send(t, &fake{err: errDown}, request{method: "GET", path: path}); rec.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: HTTP %d: %s", path, rec.Code, rec.Body)
		}
	}
}

// One report reads the log at a time.
func TestOneReportAtATime(t *testing.T) {
	t.Parallel()
	f := &fake{started: make(chan struct{})}
	handler := api.New(api.Config{Line: f, Webhooks: f, Attempts: f.attempts})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/owed", http.NoBody))
	}()
	<-f.started
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+one+"/owed", http.NoBody))
	if rec.Code != http.StatusTooManyRequests {
		t.Errorf("HTTP %d: %s", rec.Code, rec.Body)
	}
	cancel()
	<-done
}

// A report may take longer than the server gives a request to be read.
func TestReportTakesItsTime(t *testing.T) {
	t.Parallel()
	f := &fake{takes: 300 * time.Millisecond}
	server := httptest.NewUnstartedServer(api.New(api.Config{Line: f, Webhooks: f, Attempts: f.attempts, Replay: f}))
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	defer server.Close()
	resp, err := http.Get(server.URL + "/api/v1/owed")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"endpoint":"b"`) {
		t.Errorf("HTTP %d: %s, %v", resp.StatusCode, body, err)
	}
}
