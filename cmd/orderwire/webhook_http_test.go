package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
)

// caller speaks to the service of a running process.
type caller struct {
	testing.TB
	base, token string
}

// do sends a request that has to succeed, and reads the answer into v, nil for none.
func (c caller) do(v any, method, path, body string) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		c.Fatalf("%s %s: HTTP %d: %s, %v", method, path, resp.StatusCode, raw, err)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		c.Fatalf("%s %s: %v: %s", method, path, err, raw)
	}
}

// await asks until a condition holds.
func (c caller) await(what string, holds func() bool) {
	c.Helper()
	tick, limit := time.NewTicker(50*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			c.Fatalf("never: %s", what)
		}
	}
}

// An endpoint's life over HTTP: added beside a running process, it gets the log from
// its beginning, is paused, owed, resumed, tested, rotated and removed.
func TestWebhooksOverHTTP(t *testing.T) {
	t.Parallel()
	hook := newHook(t)
	w := newWorld(t, worldConfig{orders: 30, yaml: "http: {listen: '127.0.0.1:0', token: t0ken}\n"})
	p := launch(t, "run", "-c", w.config)
	_, url, _ := strings.Cut(p.log.await(t, "status service"), "url=")
	c := caller{t, strings.TrimSuffix(url, "/api/v1/status"), "t0ken"}
	owed := func() (o endpoints.Owed) {
		c.do(&o, http.MethodGet, "/api/v1/webhooks/partner/owed", "")
		return o
	}
	var secret endpoints.Secret
	c.do(&secret, http.MethodPost, "/api/v1/webhooks", fmt.Sprintf(
		`{"name":"partner","url":%q,"secret":%q,"allow_private":true,"retry":["1h"],"start":{"first":true}}`, hook.server.URL, hook.secret))
	if secret.Name != "partner" || secret.Secret != "" {
		t.Errorf("%s, with a secret that was given: %t", secret.Name, secret.Secret != "")
	}
	c.await("all is delivered", func() bool { o := owed(); return o.Last == 30 && o.Events == 0 && o.Floor == 30 })
	var found struct{ Attempts []endpoints.Attempt }
	c.await("the attempts are recorded", func() bool {
		c.do(&found, http.MethodGet, "/api/v1/webhooks/partner/attempts?outcome=delivered", "")
		return len(found.Attempts) == 30
	})

	var view endpoints.View
	c.do(&view, http.MethodPost, "/api/v1/webhooks/partner/pause", `{"reason":"moving house"}`)
	if view.State != endpoints.StatePaused || view.Reason != "moving house" || strings.Contains(fmt.Sprint(view), hook.secret) {
		t.Errorf("%+v", view)
	}
	c.await("the pause is seen", func() bool {
		_, text := get(t, c.base+"/metrics", c.token)
		return strings.Contains(text, `orderwire_webhook_state{endpoint="partner",state="paused"} 1`)
	})
	w.step(t, 5)
	c.await("what comes is owed", func() bool { return owed().Events == 5 })
	if o := owed(); o.State != endpoints.StatePaused || o.Oldest == nil || o.Oldest.Sequence != 31 {
		t.Errorf("%+v", o)
	}
	if _, text := get(t, c.base+"/metrics", c.token); strings.Contains(text, `orderwire_webhook_oldest_undelivered_age_seconds{endpoint="partner"} 0`+"\n") {
		t.Errorf("%s", text)
	}
	c.do(&view, http.MethodPost, "/api/v1/webhooks/partner/resume", "{}")
	c.await("it goes on", func() bool { return owed().Events == 0 })

	var tested endpoints.TestResult
	c.do(&tested, http.MethodPost, "/api/v1/webhooks/partner/test", "{}")
	if tested.Status == 0 || tested.ID == "" {
		t.Errorf("%+v", tested)
	}
	var again replay.Report
	c.do(&again, http.MethodPost, "/api/v1/webhooks/partner/replay", `{"from":1,"until":10,"dry_run":true}`)
	if again.Events != 10 || again.Delivered != 0 {
		t.Errorf("%+v", again)
	}
	c.do(&again, http.MethodPost, "/api/v1/webhooks/partner/replay", `{"from":1,"until":10,"rate":"none"}`)
	if again.Delivered != 10 || again.Next != 0 {
		t.Errorf("%+v", again)
	}
	c.do(&secret, http.MethodPost, "/api/v1/webhooks/partner/rotate", `{"keep":"1h"}`)
	if !strings.HasPrefix(secret.Secret, "whsec_") || secret.Secret == hook.secret {
		t.Error("no new secret")
	}
	c.do(nil, http.MethodDelete, "/api/v1/webhooks/partner", "")
	var left struct{ Webhooks []endpoints.View }
	c.do(&left, http.MethodGet, "/api/v1/webhooks", "")
	if len(left.Webhooks) != 0 {
		t.Errorf("%+v", left.Webhooks)
	}
	p.terminate(t)
}
