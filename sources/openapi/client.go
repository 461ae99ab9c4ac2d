package openapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// Client calls the publisher operations of one account (specification 4 and
// 5.1). It signs every request, waits for its turn under the rate limit, tries
// again when that can help, and reads the envelope. All calls may overlap.
//
// A call fails with a [*schema.ParamError] before anything is sent, or with one
// of [*TransportError], [*HTTPError], [*RefusedError] and [*BodyError], of the
// last attempt. When its context ends, it stops at once with an error that
// wraps the context's cause and, if there was one, the last failure.
type Client struct {
	cfg     Config // complete
	http    *http.Client
	limiter *rate.Limiter
}

// NewClient checks the configuration and sends nothing. The error holds a
// [*ConfigError] for every field that is wrong.
func NewClient(cfg Config) (*Client, error) {
	cfg = cfg.complete()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	limit := rate.Limit(cfg.RequestsPerSecond)
	if limit < 0 {
		limit = rate.Inf
	}
	return &Client{cfg: cfg, http: httpClient(cfg.HTTPClient), limiter: rate.NewLimiter(limit, cfg.Burst)}, nil
}

// httpClient returns a client that follows no redirect: a signed request goes
// to the address of the configuration or nowhere.
func httpClient(given *http.Client) *http.Client {
	own := http.Client{Transport: newTransport()}
	if given != nil {
		own = *given
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Check proves address, key and secret with the cheapest call there is: one
// order of the last minute.
func (c *Client) Check(ctx context.Context) error {
	now := c.cfg.Now()
	_, err := c.Orders(ctx, OrdersQuery{From: now.Add(-time.Minute), To: now, Page: 1, PageSize: 1})
	return err
}

func (c *Client) service(operation string) string { return c.cfg.ServicePrefix + "." + operation }
