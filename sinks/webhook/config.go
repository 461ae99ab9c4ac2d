package webhook

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// The defaults of [Config].
const (
	DefaultTimeout        = 15 * time.Second
	DefaultMaxAnswerBytes = 64 << 10
)

// Config describes an endpoint. Its fields are the keys of an entry under
// webhooks in the configuration file.
type Config struct {
	// Name names the endpoint in errors, logs and figures. Required.
	Name string
	// URL is where events are posted. It is https; with AllowPrivate also http,
	// to a private or loopback address. It holds no user and no password: give
	// an Authorization header instead.
	URL string
	// Secret signs the deliveries: "whsec_" and the base64 of 24 to 64 bytes,
	// see [NewSecret], or "whsk_" and the base64 of an ed25519 key, see
	// [NewKeyPair]. Required.
	Secret string
	// PreviousSecrets sign as well, for the time in which a receiver changes
	// over from an older secret to a newer one, which may be of the other kind.
	// At most 15; usually empty.
	PreviousSecrets []string
	// Events are the event types that are delivered; empty: all.
	Events []schema.EventType
	// Accounts are the accounts whose orders are delivered; empty: all.
	Accounts []string
	// Programs are the program ids whose orders are delivered; empty: all.
	Programs []string
	// Where is an expression that an event must satisfy beside the lists above,
	// `status == "Approved" && amount >= 100`; "": none. See the package's
	// documentation.
	Where string
	// AllowPrivate lets the endpoint be in a private network (RFC 1918, shared
	// address space, unique local) or on this host. Link-local addresses, among
	// them the metadata services of clouds, stay refused. Default false.
	AllowPrivate bool
	// Timeout bounds an attempt from dialling to the head of the answer; 0: 15 s.
	Timeout time.Duration
	// Headers are sent with every attempt, an Authorization for instance. Those
	// that the package or HTTP itself sets are refused.
	Headers map[string]string
	// MaxAnswerBytes bounds how much of an answer is read, so that its
	// connection can be used again; 0: 64 KiB. A longer answer is no failure,
	// it only costs the connection.
	MaxAnswerBytes int64
	// ClientCert and ClientKey are the certificate that the endpoint presents to
	// a receiver that asks for one, and its private key; "": none. The files are
	// read again for every new connection.
	ClientCert, ClientKey PEM
	// CAFile holds the certificates of the only authorities that may vouch for
	// the receiver; "": RootCAs.
	CAFile PEM
	// RootCAs are the authorities that may vouch for the receiver; nil: the
	// system's.
	RootCAs *x509.CertPool
	// Logger gets one debug line for each attempt; nil: none. The runner reports
	// failures, so this package does not.
	Logger *slog.Logger
}

// String returns the name and the scheme and host of the URL, and so keeps the
// secrets of a Config out of texts.
func (c Config) String() string { return fmt.Sprintf("%q (%s)", c.Name, origin(c.URL)) }

// GoString is String, for the verb %#v.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for package slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// ConfigError says what is wrong with one field of a [Config]. It never holds a
// value that may be secret.
type ConfigError struct {
	Endpoint string // Config.Name, "" when that is what is missing
	Field    string // key in the configuration file: "url", "events[1]", "headers.Host"
	Problem  string // what is wrong
	Hint     string // what to do about it
	Cause    error  // [ErrSecret], [ErrAddress], [ErrCertificate] or nil
}

// Error gives endpoint, field, problem and hint in one line.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("webhook %q: %s: %s; %s", e.Endpoint, e.Field, e.Problem, e.Hint)
}

// Unwrap returns the cause, nil when there is none.
func (e *ConfigError) Unwrap() error { return e.Cause }

// checked is a Config after validation.
type checked struct {
	url      *url.URL
	signer   signer
	guard    guard
	roots    *x509.CertPool // nil: the system's
	identity *identity      // nil: none
	where    *where         // nil: none
}

// Check says what is wrong with a configuration: all that [New] says, and
// whether the client certificate has expired at the time now. New does not mind
// that: an endpoint waits for a new certificate, and its events wait with it.
func (c *Config) Check(now time.Time) error {
	got, err := c.check()
	if err != nil || got.identity == nil {
		return err
	}
	pair, wrong := got.identity.load()
	if wrong == nil {
		wrong = got.identity.valid(pair, now)
	}
	if wrong == nil {
		return nil
	}
	wrong.Endpoint = c.Name
	return wrong
}

// check validates all fields and reports every mistake, not only the first.
func (c *Config) check() (checked, error) {
	var out checked
	p := problems{endpoint: c.Name}
	if c.Name == "" {
		p.add("name", "is missing", "give the endpoint a name of your own, which errors and figures will show")
	}
	out.guard = newGuard(c.AllowPrivate)
	out.url = c.checkURL(&p, &out.guard)
	out.signer = c.checkSecrets(&p)
	out.roots, out.identity = c.checkAuthorities(&p), c.checkIdentity(&p)
	out.where = c.checkWhere(&p)
	c.checkEvents(&p)
	checkHeaders(&p, c.Headers)
	if c.Timeout < 0 {
		p.add("timeout", "is negative", "leave it out for 15s")
	}
	if c.MaxAnswerBytes < 0 {
		p.add("max_answer_bytes", "is negative", "leave it out for 64 KiB")
	}
	return out, errors.Join(p.errs...)
}

func (c *Config) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }

func (c *Config) maxAnswer() int64 { return cmp.Or(c.MaxAnswerBytes, DefaultMaxAnswerBytes) }

func (c *Config) checkSecrets(p *problems) signer {
	var s signer
	add := func(field, secret string) {
		k, err := parseSecret(secret)
		if err != nil {
			p.errs = append(p.errs, &ConfigError{p.endpoint, field, err.Error(), secretHint, ErrSecret})
			return
		}
		s.keys = append(s.keys, k)
	}
	add("secret", c.Secret)
	for i, secret := range c.PreviousSecrets {
		add(fmt.Sprintf("previous_secrets[%d]", i), secret)
	}
	if len(c.PreviousSecrets) >= maxSignatures {
		p.add("previous_secrets", fmt.Sprintf("has %d secrets", len(c.PreviousSecrets)), "remove those that no receiver uses any more")
	}
	return s
}

func (c *Config) checkWhere(p *problems) *where {
	w, wrong := compileWhere(c.Where)
	if wrong != nil {
		wrong.Endpoint = p.endpoint
		p.errs = append(p.errs, wrong)
	}
	return w
}

func (c *Config) checkEvents(p *problems) {
	for i, t := range c.Events {
		if t.Token() == "" {
			p.add(fmt.Sprintf("events[%d]", i), "is no event type", fmt.Sprintf("use %s, %s, %s or %s, or leave events out for all",
				schema.OrderCreated, schema.StatusChanged, schema.OrderUpdated, schema.OrderVanished))
		}
	}
}

// problems collects the mistakes of one Config.
type problems struct {
	endpoint string
	errs     []error
}

func (p *problems) add(field, problem, hint string) {
	p.errs = append(p.errs, &ConfigError{Endpoint: p.endpoint, Field: field, Problem: problem, Hint: hint})
}
