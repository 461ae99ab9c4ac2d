package console_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/schema"
)

// A person whom a proxy has signed in needs no token and has forms of his own; nobody
// else gets in, neither with the header nor with an empty token.
func TestProxiedPerson(t *testing.T) {
	t.Parallel()
	w := openBehind(t, api.Gate{Header: "X-Forwarded-Email", Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.7/32")}},
		"http://127.0.0.1:9/", []schema.Event{hostile()})
	as := func(name string) func(*http.Request) {
		return func(r *http.Request) {
			r.RemoteAddr, r.Host = "10.0.0.7:1234", "orders.example.com"
			r.Header.Set("X-Forwarded-Email", name)
		}
	}
	page := w.ask(t, http.MethodGet, "/webhooks/partner%2Fa", nil, as("ann@example.com"))
	if page.code != http.StatusOK || strings.Contains(page.body, "Log out") {
		t.Fatalf("HTTP %d: %s", page.code, page.body)
	}
	form := url.Values{"csrf": {page.form(t)}, "reason": {"audit"}}
	if a := w.ask(t, http.MethodPost, "/webhooks/partner%2Fa/pause", form, as("eve@example.com")); a.code != http.StatusForbidden {
		t.Errorf("the form of somebody else: HTTP %d", a.code)
	}
	if a := w.ask(t, http.MethodPost, "/webhooks/partner%2Fa/pause", form, as("ann@example.com")); a.code != http.StatusSeeOther {
		t.Errorf("HTTP %d: %s", a.code, a.body)
	}
	for what, change := range map[string]func(*http.Request){
		"from elsewhere": func(r *http.Request) { as("ann@example.com")(r); r.RemoteAddr = "10.0.0.8:1" },
		"without a name": func(r *http.Request) { as("")(r) },
	} {
		if a := w.ask(t, http.MethodGet, "/orders", nil, change); a.code != http.StatusSeeOther || a.header.Get("Location") != "/login" {
			t.Errorf("%s: HTTP %d to %q", what, a.code, a.header.Get("Location"))
		}
	}
	if a := w.ask(t, http.MethodPost, "/login", url.Values{"token": {""}}, nil); a.code != http.StatusUnauthorized || a.header.Get("Set-Cookie") != "" {
		t.Errorf("an empty token: HTTP %d, %v", a.code, a.header)
	}
}
