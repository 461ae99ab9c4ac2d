package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	const (
		never   = "refused always"
		private = "with allow_private only"
		open    = "allowed"
	)
	for address, want := range map[string]string{
		"127.0.0.1": private, "127.9.9.9": private, "10.0.0.1": private, "172.16.0.1": private, "192.168.1.1": private,
		"100.64.0.1": private, "::1": private, "fd00::1": private, "::ffff:10.0.0.1": private, "::ffff:127.0.0.1": private,
		"169.254.169.254": never, "::ffff:169.254.169.254": never, "0.0.0.0": never, "::": never, "fe80::1": never,
		"224.0.0.1": never, "255.255.255.255": never, "192.0.2.1": never, "64:ff9b::7f00:1": never, "2002:7f00:1::": never,
		"93.184.216.34": open, "2606:4700:4700::1111": open,
	} {
		a := netip.MustParseAddr(address)
		if err := newGuard(false).check(a); (err == nil) != (want == open) || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
		if err := newGuard(true).check(a); (err == nil) != (want != never) {
			t.Errorf("%s with allow_private: %v, want %s", address, err, want)
		}
		plain := guard{public: newGuard(true).public, allowPrivate: true, onlyPrivate: true}
		if err := plain.check(a); (err == nil) != (want == private) {
			t.Errorf("%s over plain http: %v, want %s", address, err, want)
		}
	}
}

// Addresses that stand in the URL are found in the configuration already.
func TestNewRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]", "[::1]", "[fe80::1%25eth0]", "10.1.2.3:8443"} {
		_, err := New(Config{Name: "a", URL: "https://" + host + "/in", Secret: testSecret})
		var bad *ConfigError
		if !errors.Is(err, ErrAddress) || !errors.As(err, &bad) || bad.Field != "url" {
			t.Errorf("%s: got %v", host, err)
		}
	}
	if _, err := New(Config{Name: "a", URL: "http://93.184.216.34/in", Secret: testSecret, AllowPrivate: true}); !errors.Is(err, ErrAddress) {
		t.Errorf("plain http to a public address: got %v", err)
	}
}

// The environment's proxy would see every delivery and undo the guard.
func TestNoProxy(t *testing.T) {
	proxy := newReceiver(t, status(http.StatusOK))
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	e := endpoint(t, "http://partner.example.com")
	var dialled string
	e.transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = address
		return nil, &net.OpError{Op: "dial", Err: errors.New("not here")}
	}
	if err := e.Deliver(t.Context(), entry(t, 1)); err == nil || dialled != "partner.example.com:80" {
		t.Errorf("dialled %s, %v", dialled, err)
	}
	if e.transport.Proxy != nil { // net/http reads the environment only once in a process
		t.Error("the transport has a proxy")
	}
}

func TestOriginHidesTheRest(t *testing.T) {
	t.Parallel()
	u := url.URL{Scheme: "https", Host: "a.example.com:8443", Path: "/hook/token", RawQuery: "key=token", User: url.UserPassword("u", "token")}
	if got := origin(u.String()); got != "https://a.example.com:8443" {
		t.Errorf("got %s", got)
	}
}

var _ interface {
	Deliver(context.Context, *schema.Entry) error
} = (*Endpoint)(nil)
