package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

var changes = []string{"/webhooks/partner%2Fa/pause", "/webhooks/partner%2Fa/resume", "/webhooks/partner%2Fa/test", "/webhooks/partner%2Fa/replay", "/ledger/check", "/zone", "/logout"}

// Without the token nothing is shown and nothing is done.
func TestLogin(t *testing.T) {
	t.Parallel()
	w := open(t, token, "http://127.0.0.1:9/")
	for _, target := range []string{"/", "/orders", orderPath(hostile()), "/webhooks", "/webhooks/partner%2Fa", "/deadletters", "/nothing", "/orders?format=csv",
		"/accounts", "/archive", "/archive/files", "/archive/files?format=json", "/ledger", "/ledger/earnings", "/ledger/waiting", "/ledger/programs", "/ledger/postings", "/ledger?format=csv"} {
		for _, cookie := range []string{"", "orderwire_session=", "orderwire_session=guess", "orderwire_session=" + token} {
			a := w.ask(t, http.MethodGet, target, nil, func(r *http.Request) { r.Header.Set("Cookie", cookie) })
			if a.code != http.StatusSeeOther || a.header.Get("Location") != "/login" || strings.Contains(a.body, "SN-") {
				t.Errorf("%s with %q: HTTP %d", target, cookie, a.code)
			}
		}
	}
	for _, target := range changes {
		if a := w.ask(t, http.MethodPost, target, url.Values{"csrf": {"x"}}, nil); a.code != http.StatusUnauthorized {
			t.Errorf("%s: HTTP %d", target, a.code)
		}
	}
	for _, given := range []string{"", "t0ke", "T0KEN", "t0ken ", script} {
		a := w.ask(t, http.MethodPost, "/login", url.Values{"token": {given}}, nil)
		if a.code != http.StatusUnauthorized || a.cookie("orderwire_session") != nil {
			t.Errorf("%q: HTTP %d, %v", given, a.code, a.header)
		}
	}
	a := w.ask(t, http.MethodPost, "/login", url.Values{"token": {token}}, nil)
	session := a.cookie("orderwire_session")
	if a.code != http.StatusSeeOther || session == nil || !session.HttpOnly || session.SameSite != http.SameSiteStrictMode || session.MaxAge <= 0 || session.Secure ||
		strings.Contains(session.Value, token) {
		t.Fatalf("HTTP %d, %+v", a.code, session)
	}
	in := func(r *http.Request) { r.AddCookie(session); r.Host = "orders.example.com" }
	page := w.ask(t, http.MethodGet, "/webhooks/partner%2Fa", nil, in)
	if page.code != http.StatusOK || !strings.Contains(page.body, "Log out") {
		t.Fatalf("HTTP %d", page.code)
	}
	for _, target := range changes {
		for _, csrf := range []string{"", "x", strings.Repeat("0", 64)} {
			if a := w.ask(t, http.MethodPost, target, url.Values{"csrf": {csrf}}, in); a.code != http.StatusForbidden {
				t.Errorf("%s with the form token %q: HTTP %d", target, csrf, a.code)
			}
		}
	}
	form := url.Values{"csrf": {page.form(t)}}
	if a := w.ask(t, http.MethodPost, changes[0], form, in); a.code != http.StatusSeeOther {
		t.Errorf("HTTP %d: %s", a.code, a.body)
	}
	if a := w.ask(t, http.MethodPost, "/logout", form, in); a.code != http.StatusSeeOther || a.cookie("orderwire_session").MaxAge >= 0 {
		t.Errorf("HTTP %d, %v", a.code, a.header)
	}
	if a := w.ask(t, http.MethodGet, "/", nil, in); a.code != http.StatusSeeOther {
		t.Errorf("after the end of the session: HTTP %d", a.code)
	}
	program := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	if a := w.ask(t, http.MethodGet, "/orders?format=csv", nil, program); a.code != http.StatusOK || !strings.Contains(a.body, "SN-") {
		t.Errorf("a program with the token: HTTP %d", a.code)
	}
	if a := w.ask(t, http.MethodPost, changes[0], url.Values{}, program); a.code != http.StatusForbidden {
		t.Errorf("a form of a program without its token: HTTP %d", a.code)
	}
	if a := w.ask(t, http.MethodGet, "/", nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer t0ke") }); a.code != http.StatusSeeOther {
		t.Errorf("a program with another token: HTTP %d", a.code)
	}
	secure := func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }
	if a := w.ask(t, http.MethodPost, "/login", url.Values{"token": {token}}, secure); a.cookie("orderwire_session") == nil || !a.cookie("orderwire_session").Secure {
		t.Error("behind https, the cookie goes over http as well")
	}
}

// Without a token, the console is for who names this machine, and for its own pages.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	for host, good := range map[string]bool{"localhost:8080": true, "127.0.0.1": true, "[::1]:8080": true, "evil.example": false, "10.0.0.1": false, "127.0.0.1.evil.example": false} {
		for _, target := range []string{"/", "/orders", "/ledger", "/archive", "/accounts", "/assets/style.css", "/login"} {
			a := w.ask(t, http.MethodGet, target, nil, func(r *http.Request) { r.Host = host })
			if (a.code != http.StatusMisdirectedRequest) != good {
				t.Errorf("%s at %s: HTTP %d", target, host, a.code)
			}
		}
	}
	page := w.get(t, "/webhooks/partner%2Fa")
	form := url.Values{"csrf": {page.form(t)}, "token": {""}, "failures": {"yes"}, "send": {"yes"}}
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"http://evil.example"}}, {"Origin": {"null"}}} {
		for _, target := range append(changes, "/login") {
			a := w.ask(t, http.MethodPost, target, form, func(r *http.Request) {
				for name, value := range header {
					r.Header[name] = value
				}
			})
			if a.code != http.StatusForbidden {
				t.Errorf("%s with %v: HTTP %d", target, header, a.code)
			}
		}
	}
	if v, err := w.manager.Get(t.Context(), "partner/a"); err != nil || v.State != "active" || len(w.asked) > 0 {
		t.Errorf("%v: %+v, asked %v", err, v, w.asked)
	}
	if a := w.ask(t, http.MethodPost, changes[0], url.Values{"csrf": {page.form(t)}, "reason": {strings.Repeat("x", 1<<20)}}, nil); a.code != http.StatusForbidden {
		t.Errorf("a large form: HTTP %d", a.code)
	}
}

// Style, script and icon are served, and nothing else of what is embedded.
func TestAssets(t *testing.T) {
	t.Parallel()
	w := open(t, token, "http://127.0.0.1:9/")
	for target, kind := range map[string]string{"/assets/style.css": "text/css", "/assets/live.js": "text/javascript", "/assets/icon.svg": "image/svg+xml"} {
		if a := w.get(t, target); a.code != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), kind) || a.body == "" {
			t.Errorf("%s: HTTP %d, %v", target, a.code, a.header)
		}
	}
}
