package api_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
)

// A header that names a person counts from the proxy alone, beside the token or in its
// place.
func TestProxy(t *testing.T) {
	t.Parallel()
	const name = "X-Forwarded-Email"
	ann := map[string]string{name: "ann@example.com"}
	for _, tt := range []struct {
		what  string
		token string
		from  string
		with  map[string]string
		code  int
	}{
		{"the proxy", "", "10.1.2.3:40000", ann, 200},
		{"the proxy beside a token", "t0ken", "10.1.2.3:40000", ann, 200},
		{"the proxy by IPv6", "", "[::ffff:10.1.2.3]:40000", ann, 200},
		{"the token beside a proxy", "t0ken", "192.0.2.1:40000", map[string]string{"Authorization": "Bearer t0ken"}, 200},
		{"somebody else", "", "10.2.0.1:40000", ann, 401},
		{"this machine", "", "127.0.0.1:40000", ann, 401},
		{"nobody named", "", "10.1.2.3:40000", nil, 401},
		{"an empty name", "", "10.1.2.3:40000", map[string]string{name: " "}, 401},
		{"an empty token", "", "10.2.0.1:40000", map[string]string{"Authorization": "Bearer "}, 401},
		{"another header", "", "10.1.2.3:40000", map[string]string{"X-Forwarded-User": "ann"}, 401},
		{"a wrong address", "", "nowhere", ann, 401},
	} {
		q := request{method: http.MethodGet, path: "/api/v1/webhooks", token: tt.token, proxied: name, from: tt.from, header: tt.with, host: "orders.example.com"}
		if rec := send(t, &fake{}, q); rec.Code != tt.code {
			t.Errorf("%s: HTTP %d, want %d", tt.what, rec.Code, tt.code)
		}
	}
	gate := api.Gate{Header: name, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.7/32")}}
	twice := &http.Request{RemoteAddr: "10.0.0.7:1", Header: http.Header{name: {"ann", "eve"}}}
	if who, ok := gate.Person(twice); ok {
		t.Errorf("two names are taken for %q", who)
	}
}
