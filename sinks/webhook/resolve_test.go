package webhook

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// nameServer is a name server that answers every question for an address by the
// next of its answers, and by the last one for ever.
type nameServer struct {
	server  net.PacketConn
	mu      sync.Mutex
	answers []netip.Addr // none: the name has no address
	asked   int
}

func newNameServer(t *testing.T, answers ...string) *nameServer {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	n := &nameServer{server: server}
	for _, a := range answers {
		n.answers = append(n.answers, netip.MustParseAddr(a))
	}
	go n.serve()
	return n
}

// resolver asks this server only.
func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.server.LocalAddr().String())
	}}
}

// use makes an endpoint ask this server.
func (n *nameServer) use(e *Endpoint, g guard) {
	dialer := newDialer(g)
	dialer.Resolver = n.resolver()
	e.transport.DialContext = dialer.DialContext
}

func (n *nameServer) serve() {
	buf := make([]byte, 512)
	for {
		size, from, err := n.server.ReadFrom(buf)
		if err != nil {
			return
		}
		end := 12
		for buf[end] != 0 {
			end += int(buf[end]) + 1
		}
		question := buf[:min(end+5, size)] // header, name, type, class
		answer := append([]byte(nil), question...)
		binary.BigEndian.PutUint16(answer[2:], 0x8180) // an answer without error
		clear(answer[6:12])
		if ip := n.next(question[end+2]); ip != nil {
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, question[end+2], 0, 1, 0, 0, 0, 0, 0, byte(len(ip)))
			answer = append(answer, ip...)
		}
		_, _ = n.server.WriteTo(answer, from)
	}
}

// next returns the answer to a question of kind A (1) or AAAA (28), nil for
// none. A name has either an IPv4 or an IPv6 address at a time.
func (n *nameServer) next(kind byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.answers) == 0 {
		return nil
	}
	now := n.answers[min(n.asked/2, len(n.answers)-1)]
	n.asked++ // a resolver asks for both kinds at a time
	if now.Is4() != (kind == 1) {
		return nil
	}
	return now.AsSlice()
}

// countingListener is a port of this host that counts who connects.
func countingListener(t *testing.T) (port string, connections *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	connections = new(atomic.Int32)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port, connections
}

func TestNamesThatResolveToPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	port, connections := countingListener(t)
	for _, a := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "64:ff9b::7f00:1"} {
		e := endpoint(t, "https://partner.example.com:"+port, func(c *Config) { c.AllowPrivate = false })
		newNameServer(t, a).use(e, newGuard(false))
		expectRefused(t, a, e.Deliver(t.Context(), entry(t, 1)))
	}
	local := endpoint(t, "https://localhost:"+port, func(c *Config) { c.AllowPrivate = false })
	expectRefused(t, "localhost", local.Deliver(t.Context(), entry(t, 1)))
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func expectRefused(t *testing.T, what string, err error) {
	t.Helper()
	var failed *DeliveryError
	if !errors.Is(err, ErrAddress) || !errors.As(err, &failed) || failed.StatusCode != 0 {
		t.Errorf("%s: got %v", what, err)
	} else if !strings.Contains(err.Error(), "nothing sent") || !strings.Contains(err.Error(), "allow_private") {
		t.Errorf("%s: the error does not help: %v", what, err)
	}
}

// A name that is public for whoever checks it, and private for the next one.
func TestNameThatChangesAfterACheck(t *testing.T) {
	t.Parallel()
	port, connections := countingListener(t)
	n := newNameServer(t, "93.184.216.34", "127.0.0.1")
	found, err := n.resolver().LookupNetIP(t.Context(), "ip4", "partner.example.com")
	if err != nil || len(found) != 1 || newGuard(false).check(found[0]) != nil {
		t.Fatalf("the check before would find %v, %v", found, err)
	}
	n.mu.Lock()
	n.asked = 2 // LookupNetIP of one kind asks once
	n.mu.Unlock()
	e := endpoint(t, "https://partner.example.com:"+port, func(c *Config) { c.AllowPrivate = false })
	n.use(e, newGuard(false))
	expectRefused(t, "rebound", e.Deliver(t.Context(), entry(t, 1)))
	if got := connections.Load(); got != 0 {
		t.Errorf("%d connections were made", got)
	}
}

// A name that has been delivered to, and then leads elsewhere.
func TestNameThatChangesBetweenDeliveries(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
	e := endpoint(t, "http://partner.example.com:"+port)
	g := newGuard(true)
	newNameServer(t, "127.0.0.1", "169.254.169.254").use(e, g)
	deliver(t, e, entry(t, 1))
	expectRefused(t, "the metadata service", e.Deliver(t.Context(), entry(t, 2)))
	if n := len(r.deliveries()); n != 1 {
		t.Errorf("%d deliveries, want 1", n)
	}
}

// A redirect is an answer like any other failure, wherever it leads to.
func TestRedirectToAPrivateAddress(t *testing.T) {
	t.Parallel()
	port, connections := countingListener(t)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://"+host+":"+port+"/latest/meta-data")
				w.WriteHeader(code)
			})
			err := endpoint(t, r.URL).Deliver(t.Context(), entry(t, 1))
			var failed *DeliveryError
			if !errors.As(err, &failed) || failed.StatusCode != code || failed.Permanent() || !strings.Contains(err.Error(), "redirects are not followed") {
				t.Errorf("%d to %s: got %v", code, host, err)
			}
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// What may be mended by itself, at the name service or at the receiver, is no
// reason to give an event up.
func TestNameAndTLSErrorsAreRetried(t *testing.T) {
	t.Parallel()
	unknown := tlsReceiver(t)
	a := newAuthority(t)
	expired, _ := mutualWith(t, a, -2*time.Hour, -time.Hour)
	elsewhere, _ := mutual(t, a)
	wants := map[string]string{
		"unknown authority": "unknown authority", "expired certificate": "certificate has expired", "other name": "localhost",
		"no TLS": "does not look like a TLS handshake", "no answer of names": "lookup partner.example.com", "no such name": "no such host",
	}
	for name, e := range map[string]*Endpoint{
		"unknown authority":   endpoint(t, unknown.URL),
		"expired certificate": endpoint(t, expired.URL, func(c *Config) { c.CAFile = a.file }),
		"other name":          endpoint(t, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), func(c *Config) { c.CAFile = a.file }),
		"no TLS":              endpoint(t, strings.Replace(newReceiver(t, status(200)).URL, "http:", "https:", 1)),
		"no answer of names":  endpoint(t, "http://partner.example.com", func(c *Config) { c.Timeout = 10 * time.Second }),
		"no such name":        endpoint(t, "http://partner.example.com"),
	} {
		if strings.Contains(e.origin, "example.com") {
			n := newNameServer(t)
			n.use(e, newGuard(true))
			if name == "no answer of names" {
				n.server.Close()
			}
		}
		err := e.Deliver(t.Context(), entry(t, 1))
		var failed *DeliveryError
		if !errors.As(err, &failed) || failed.Permanent() || failed.StatusCode != 0 || failed.RetryAfter() != 0 {
			t.Errorf("%s: got %v", name, err)
		} else if !strings.Contains(err.Error(), wants[name]) {
			t.Errorf("%s: the error does not say %q: %v", name, wants[name], err)
		}
	}
}
