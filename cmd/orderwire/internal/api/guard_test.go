package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// Nothing but the probes is answered without the token, whatever the method.
func TestToken(t *testing.T) {
	t.Parallel()
	paths := [][2]string{{"GET", "/metrics"}, {"GET", "/nothing"}, {"PUT", "/api/v1/webhooks"}}
	for _, o := range api.Operations() {
		paths = append(paths, [2]string{o[0], strings.NewReplacer("{name}", "partner%2Fa", "{month}", "2026-03", "{key}", "main.77.a").Replace(o[1])})
	}
	for _, o := range paths {
		body := "{}"
		switch {
		case o[1] == "/api/v1/webhooks":
			body = `{"name":"n","url":"u"}`
		case strings.HasSuffix(o[1], "/release"):
			body = `{"account":"a","order":"b"}`
		}
		if strings.HasSuffix(o[1], "/replay") {
			body = `{"failures":true}`
		}
		for _, given := range []string{"", "Bearer ", "Bearer t0ke", "Bearer t0ken ", "Bearer T0KEN", "Basic t0ken", "t0ken", "Bearer t0kent0ken"} {
			f := &fake{}
			rec := send(t, f, request{method: o[0], path: o[1], body: body, token: "t0ken", header: map[string]string{"Authorization": given}})
			if rec.Code != http.StatusUnauthorized || rec.Header().Get("WWW-Authenticate") != "Bearer" || len(f.asked) > 0 {
				t.Errorf("%v with %q: HTTP %d, asked %q", o, given, rec.Code, f.asked)
			}
		}
		rec := send(t, &fake{}, request{method: o[0], path: o[1], body: body, token: "t0ken", host: "orders.example.com", header: map[string]string{"Authorization": "bearer t0ken"}})
		if rec.Code == http.StatusUnauthorized || rec.Code == http.StatusMisdirectedRequest {
			t.Errorf("%v with the token: HTTP %d: %s", o, rec.Code, rec.Body)
		}
	}
}

// The probes are answered to anybody, and name what is wrong.
func TestProbes(t *testing.T) {
	t.Parallel()
	trouble := []line.Trouble{{Part: "log", Reason: "does not answer"}, {Part: "sink", Name: "archive", Reason: "takes no events"}}
	const named = `{"ok":false,"problems":[{"part":"log","reason":"does not answer"},{"part":"sink","name":"archive","reason":"takes no events"}]}`
	for _, tt := range []struct {
		path string
		fake fake
		code int
		body string
	}{
		{"/healthz", fake{err: errDown, trouble: trouble}, 200, `{"ok":true,"problems":[]}`}, {"/readyz", fake{err: errDown, dead: trouble}, 200, `{"ok":true,"problems":[]}`},
		{"/healthz", fake{dead: trouble}, 503, named}, {"/readyz", fake{trouble: trouble}, 503, named},
	} {
		rec := send(t, &tt.fake, request{method: "GET", path: tt.path, token: "t0ken", host: "10.1.2.3:8080"})
		if rec.Code != tt.code || strings.TrimSpace(rec.Body.String()) != tt.body {
			t.Errorf("%s: HTTP %d: %s", tt.path, rec.Code, rec.Body)
		}
	}
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	rec := send(t, &fake{}, request{method: "GET", path: "/metrics"})
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `orderwire_webhook_state{endpoint="partner/a",state="broken"} 1`) {
		t.Errorf("HTTP %d: %s", rec.Code, rec.Body)
	}
}

// Without a token, a name that resolves to this machine is not enough.
func TestHost(t *testing.T) {
	t.Parallel()
	for host, good := range map[string]bool{
		"127.0.0.1:8080": true, "127.0.0.1": true, "127.3.2.1:80": true, "localhost:8080": true, "LocalHost": true, "localhost.": true, "[::1]:8080": true,
		"[::1]": true, "[::ffff:127.0.0.1]:8080": true, "orders.internal:8080": true, "ORDERS.internal": true,
		"evil.example:8080": false, "127.0.0.1.evil.example": false, "localhost.evil.example:8080": false, "10.0.0.1:8080": false, "0.0.0.0:8080": false,
		"[::]:8080": false, "127.0.0.1:8080@evil.example": false, "": false,
	} {
		for _, q := range []request{
			{method: "GET", path: "/api/v1/status"}, {method: "GET", path: "/metrics"}, {method: "GET", path: "/api/v1/webhooks"}, {method: "DELETE", path: one},
			{method: "POST", path: one + "/pause", body: "{}"},
		} {
			f := &fake{}
			if q.host = host; host == "" {
				q.host = " "
			}
			q.listen = "orders.internal:8080"
			rec := sendPlain(t, f, q)
			if (rec.Code/100 == 2) != good || !good && (rec.Code != http.StatusMisdirectedRequest || len(f.asked) > 0) {
				t.Errorf("%s %s at %q: HTTP %d: %.200s", q.method, q.path, host, rec.Code, rec.Body)
			}
		}
	}
}

// A page of another origin can send forms and simple requests without asking; it
// changes nothing by them.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   int
	}{
		{"form of another site", map[string]string{"Content-Type": form["Content-Type"], "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403},
		{"form without an origin", form, 415},
		{"text", map[string]string{"Content-Type": "text/plain"}, 415},
		{"no type", map[string]string{"Content-Type": ""}, 415},
		{"JSON of another site", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"JSON of a sibling", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"old browser", map[string]string{"Origin": "https://evil.example"}, 403},
		{"opaque origin", map[string]string{"Origin": "null"}, 403},
		{"same origin", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}, 200},
		{"program", map[string]string{"Content-Type": "application/json; charset=utf-8"}, 200},
	} {
		for _, token := range []string{"", "t0ken"} {
			f := &fake{}
			q := request{method: "POST", path: one + "/pause", body: `{"reason":"x"}`, header: map[string]string{"Authorization": "Bearer t0ken"}, token: token}
			for name, value := range tt.header {
				q.header[name] = value
			}
			if rec := send(t, f, q); rec.Code != tt.want || rec.Code != 200 && len(f.asked) > 0 {
				t.Errorf("%s: HTTP %d, asked %q: %s", tt.name, rec.Code, f.asked, rec.Body)
			}
			if tt.want == 403 {
				q.method, q.path, q.body = "DELETE", one, ""
				if rec := send(t, f, q); rec.Code != 403 || len(f.asked) > 0 {
					t.Errorf("%s, DELETE: HTTP %d, asked %q: %s", tt.name, rec.Code, f.asked, rec.Body)
				}
			}
		}
	}
}
