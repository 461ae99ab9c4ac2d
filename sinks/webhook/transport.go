package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// idleConnections is how many connections an endpoint keeps open. With the two
// of net/http, a busy runner would dial anew for almost every event.
const idleConnections = 256

// newTransport returns the client side of an endpoint. It is used as it is,
// without an [http.Client], so there are no redirects and no cookies. It takes
// no proxy from the environment and asks for no compression, so the bound on an
// answer is a bound on what was sent. Pings end an HTTP/2 connection that has
// silently died, which would otherwise take every following attempt with it.
func newTransport(c checked) *http.Transport {
	secure := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.roots}
	if c.identity != nil {
		secure.GetClientCertificate = c.identity.present
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            newDialer(c.guard).DialContext,
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		DisableCompression:     true,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// newDialer returns a dialer that asks the guard about every address of a name
// in turn, and so connects to none that the guard refuses.
func newDialer(g guard) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: g.control}
}
