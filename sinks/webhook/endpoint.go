package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/orderwire/orderwire/schema"
)

const (
	// excerptBytes is how much of a refused delivery's answer is kept.
	excerptBytes = 1 << 10
	// answerTime is how long an answer is read after its head has come. The
	// head is the verdict; the rest is read only to save the connection.
	answerTime = time.Second
)

// Endpoint is one receiver. Its methods may be called from several goroutines.
type Endpoint struct {
	name       string
	url        *url.URL
	origin     string
	header     http.Header
	signer     signer
	filter     filter
	transport  *http.Transport
	timeout    time.Duration
	maxAnswer  int64
	answerTime time.Duration
	now        func() time.Time
	log        *slog.Logger

	delivered, failed, filtered atomic.Uint64
}

// New returns the endpoint that cfg describes. It connects to nothing. The
// error joins one [*ConfigError] for each mistake.
func New(cfg Config) (*Endpoint, error) {
	c, err := cfg.check()
	if err != nil {
		return nil, err
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Endpoint{
		name: cfg.Name, url: c.url, origin: origin(cfg.URL), header: fixedHeaders(cfg.Headers), signer: c.signer,
		filter: newFilter(&cfg, c.where), transport: newTransport(c), timeout: cfg.timeout(),
		maxAnswer: cfg.maxAnswer(), answerTime: answerTime, now: time.Now, log: log.With("endpoint", cfg.Name),
	}, nil
}

// Name returns the name of the configuration.
func (e *Endpoint) Name() string { return e.name }

// String returns the name and the scheme and host of the URL.
func (e *Endpoint) String() string { return fmt.Sprintf("%q (%s)", e.name, e.origin) }

// PublicKeys returns the public halves of the ed25519 keys that sign, the
// present one first, for the receiver; none of a symmetric secret.
func (e *Endpoint) PublicKeys() []string {
	var all []string
	for _, k := range e.signer.keys {
		if k.public != nil {
			all = append(all, publicPrefix+encode(k.public))
		}
	}
	return all
}

// Wants reports whether the filters of the endpoint let the event through. They
// do so, too, when they fail on it: Deliver then says that.
func (e *Endpoint) Wants(ev *schema.Event) bool {
	wanted, err := e.filter.match(ev)
	return wanted || err != nil
}

// Deliver makes one attempt to hand the event of entry to the receiver, whose
// Raw must be the stored event. An event that the endpoint does not want is
// counted and is no error. The error is a [*DeliveryError].
func (e *Endpoint) Deliver(ctx context.Context, entry *schema.Entry) error {
	_, err := e.Attempt(ctx, entry)
	return err
}

// Attempt is Deliver, and returns the status of the receiver's answer as well, 0 for
// none. Who makes many attempts does so with a [Sender].
func (e *Endpoint) Attempt(ctx context.Context, entry *schema.Entry) (status int, err error) {
	s := e.Sender()
	defer s.Close()
	return s.Attempt(ctx, entry)
}

// request returns the request of an attempt. What is the same in all of them is
// shared and is not to be changed.
func (e *Endpoint) request(ctx context.Context, id string, now time.Time, body []byte) *http.Request {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	values := [...]string{id, timestamp, e.signer.sign(id, timestamp, body)}
	header := make(http.Header, len(e.header)+len(values))
	maps.Copy(header, e.header)
	header[canonicalID], header[canonicalTimestamp], header[canonicalSignature] = values[0:1:1], values[1:2:2], values[2:3:3]
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	reader, _ := open()
	return (&http.Request{
		Method: http.MethodPost, URL: e.url, Host: e.url.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: reader, GetBody: open, ContentLength: int64(len(body)),
	}).WithContext(ctx)
}

// readAnswer returns the beginning of an answer and reads the rest up to the
// bound; a connection whose answer was read to its end is used again. Errors do
// not matter here: the status has already been received.
func readAnswer(body io.Reader, bound int64) []byte {
	limited := io.LimitReader(body, bound+1) // one more, to meet the end of an answer of just that size
	excerpt, err := io.ReadAll(io.LimitReader(limited, excerptBytes))
	if err == nil {
		_, _ = io.Copy(io.Discard, limited)
	}
	return excerpt
}

// Stats counts what an endpoint has done since it was made.
type Stats struct {
	Delivered uint64 // attempts that the receiver acknowledged
	Failed    uint64 // attempts that failed, without those that the caller ended
	Filtered  uint64 // events that the endpoint did not want
}

// Stats returns the present counts, each read atomically.
func (e *Endpoint) Stats() Stats {
	return Stats{Delivered: e.delivered.Load(), Failed: e.failed.Load(), Filtered: e.filtered.Load()}
}

// Close closes the connections that no attempt is using. The endpoint stays
// usable.
func (e *Endpoint) Close() { e.transport.CloseIdleConnections() }
