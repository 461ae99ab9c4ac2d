package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The defaults of [Config].
const (
	DefaultServicePrefix     = "svc"
	DefaultTimeout           = 30 * time.Second
	DefaultMaxAttempts       = 5
	DefaultInitialBackoff    = 500 * time.Millisecond
	DefaultMaxBackoff        = 30 * time.Second
	DefaultMaxBody           = 32 << 20
	DefaultRequestsPerSecond = 5
	DefaultBurst             = 1
)

// maxMaxBody is the largest MaxBody that is allowed, in bytes.
const maxMaxBody = 1 << 30

// Config says how to reach one account of the network. BaseURL, AppKey and
// AppSecret have to be given; the zero value of every other field means its
// default.
type Config struct {
	// BaseURL is the address in front of "/{APP_KEY}/{SERVICE_NAME}", http or
	// https. It may have a path, which is not signed, but no user, query or
	// fragment. A slash at its end is ignored.
	BaseURL string
	// AppKey identifies the account and is part of every request's path
	// (specification 5.1): letters, digits and ". _ ~ -".
	AppKey string
	// AppSecret signs the requests. It stands in no error and no log line.
	AppSecret string
	// ServicePrefix is the network's own word at the start of service names,
	// "svc" when empty. Same characters as AppKey.
	ServicePrefix string

	// SuccessStatus lists the Status values of the envelope that mean success,
	// {0, 200} when empty. An answer without Status succeeds when it has Data.
	SuccessStatus []int
	// BusyStatus lists the Status values of the envelope that mean "later";
	// {408, 429, 500, 502, 503, 504} when nil, none when empty and not nil.
	// Whatever the Status, a Message with a word like "busy" or "try again" means
	// the same, and one about the signature, the key, the clock, rights or
	// parameters never does.
	BusyStatus []int
	// Ampersand is the form of "&" in what is signed; plain by default.
	Ampersand Ampersand

	// Timeout bounds one attempt from connecting to the last byte of the
	// answer; 30 s when 0.
	Timeout time.Duration
	// MaxAttempts is how often a call is sent at most; 5 when 0, 1 for no retry.
	MaxAttempts int
	// InitialBackoff is the pause before the second attempt, give or take half
	// of it; it doubles from attempt to attempt. 500 ms when 0.
	InitialBackoff time.Duration
	// MaxBackoff bounds that pause; 30 s when 0. A Retry-After of the network may
	// ask for more, up to 5 minutes.
	MaxBackoff time.Duration
	// MaxBody bounds an answer in bytes, after decompression; 32 MiB when 0, at
	// most 1 GiB.
	MaxBody int64
	// RequestsPerSecond bounds the rate of requests, retries included; 5 when
	// 0, unlimited when negative.
	RequestsPerSecond float64
	// Burst is how many requests may go out at once after a silence; 1 when 0.
	Burst int

	// HTTPClient sends the requests. Redirects are never followed, whatever it
	// says. Nil means one of our own that uses the proxy of the environment.
	HTTPClient *http.Client
	// Now is the clock of Timestamp and AnsweredAt; nil means [time.Now].
	Now func() time.Time
	// Logger gets one line for every retry; nil means none.
	Logger *slog.Logger
}

// ConfigError says which field of a [Config] is wrong and what to do. It does
// not hold the value, which may be a secret.
type ConfigError struct {
	Field  string // name of the field
	Reason string // what is wrong and what to do
}

// Error gives the field and the reason.
func (e *ConfigError) Error() string { return fmt.Sprintf("network client: %s: %s", e.Field, e.Reason) }

// complete fills the defaults in.
func (c Config) complete() Config {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.ServicePrefix = cmp.Or(c.ServicePrefix, DefaultServicePrefix)
	if len(c.SuccessStatus) == 0 {
		c.SuccessStatus = []int{0, http.StatusOK}
	}
	if c.BusyStatus == nil {
		c.BusyStatus = defaultBusyStatus
	}
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, DefaultMaxAttempts)
	c.InitialBackoff = cmp.Or(c.InitialBackoff, DefaultInitialBackoff)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, DefaultMaxBackoff)
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	c.RequestsPerSecond = cmp.Or(c.RequestsPerSecond, DefaultRequestsPerSecond)
	c.Burst = cmp.Or(c.Burst, DefaultBurst)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// check returns a [*ConfigError] for every field that is wrong, joined.
func (c Config) check() error {
	var errs []error
	refuse := func(wrong bool, field, reason string) {
		if wrong {
			errs = append(errs, &ConfigError{field, reason})
		}
	}
	refuse(c.AppSecret == "", "AppSecret", "empty; give the App Secret that belongs to the App Key")
	refuse(strings.TrimSpace(c.AppSecret) != c.AppSecret, "AppSecret", "white space around it; remove it")
	refuse(!pathSegment(c.AppKey), "AppKey", segmentRule)
	refuse(!pathSegment(c.ServicePrefix), "ServicePrefix", segmentRule)
	refuse(c.Timeout < 0, "Timeout", "negative; give a duration like 30s")
	refuse(c.MaxAttempts < 0, "MaxAttempts", "negative; give 1 for no retry")
	refuse(c.InitialBackoff < 0, "InitialBackoff", "negative; give a duration like 500ms")
	refuse(c.MaxBackoff < 0, "MaxBackoff", "negative; give a duration like 30s")
	refuse(c.MaxBody < 0 || c.MaxBody > maxMaxBody, "MaxBody", "out of range; give 1 byte to 1 GiB")
	refuse(c.RequestsPerSecond != c.RequestsPerSecond, "RequestsPerSecond", "not a number; give one like 5")
	refuse(c.Burst < 0, "Burst", "negative; give at least 1")
	if reason := badURL(c.BaseURL); reason != "" {
		refuse(true, "BaseURL", reason)
	}
	return errors.Join(errs...)
}

const segmentRule = `not usable in the request's path; give letters, digits and ". _ ~ -" only`

// pathSegment reports whether s may stand in a path as it is, because the path
// that is signed has to be the path that is sent.
func pathSegment(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("._~-", r)
	})
}

func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "not an http or https address; write it like https://api.example.com"
	case u.User != nil:
		return "user or password in it; remove them, requests are signed with the App Secret"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return `"?" or "#" in it; give only what stands in front of the App Key`
	default:
		return ""
	}
}
