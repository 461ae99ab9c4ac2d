package network

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// The defaults of [Config].
const (
	DefaultServicePrefix   = "svc"
	DefaultTimestampWindow = 300 * time.Second
	DefaultMaxConcurrent   = 256
)

// Config says how a service runs. DB has to be given; the zero value of every
// other field means its default.
type Config struct {
	// DB is the path of the SQLite file; it and its folder are made when they
	// are missing. It holds App Secrets, so it is readable by its owner only.
	// Or it is the address of a PostgreSQL database, in UTF-8, in which several
	// services may run at once: postgres://user:password@host:5432/database,
	// with the settings of a libpq address. The tables are made in the first
	// schema of the search_path.
	DB string
	// ServicePrefix is the first segment of every service name, "svc" when
	// empty: letters, digits and "_ ~ -".
	ServicePrefix string
	// BaseURL is the address under which clients reach the service, http or
	// https. Its path, which is not signed, is cut off from the path of every
	// request, and the links that the service hands out begin with it. Empty
	// means no such path, and links to the host that the request names.
	BaseURL string
	// TimeZone is the zone of OrderTime and ChargeTime, and of the days of
	// statistics. Nil means the one that the database was opened with last, and
	// Asia/Shanghai for a new one. Another one than last time has the statistics
	// counted again by its days, before Open returns: some 10 s for a million
	// orders, in which nothing is written. All processes on a database have to
	// have the same one; where one has not, orders and clicks of the others are
	// refused until they are started again.
	TimeZone *time.Location
	// TimestampWindow is how far, either way, a request's Timestamp may be from
	// the service's clock; 300 s when 0, any distance when negative.
	TimestampWindow time.Duration
	// RefuseReplays refuses the same signed request, which is the same key and
	// Sign, as long as its Timestamp is within the window, which may not be
	// negative then. A client that asks for the same twice within a second has
	// to make the two differ, as with a parameter of its own. What was taken is
	// remembered by the process, up to 1,048,576 requests (more get HTTP 429
	// until the oldest leave the window), and forgotten when it ends.
	RefuseReplays bool
	// MaxConcurrent is how many requests are answered at once; more get HTTP
	// 503. 256 when 0.
	MaxConcurrent int

	// BareList makes the Data of a list of orders a bare array, without Total.
	// For tests of clients.
	BareList bool
	// OmitDetails leaves the order lines out of a list of orders. For tests of
	// clients.
	OmitDetails bool

	// Now is the service's clock; nil means [time.Now].
	Now func() time.Time
	// Logger gets the failures of the service, without what a request or an
	// order holds; nil means none.
	Logger *slog.Logger
}

// ConfigError says which field is wrong and what to do. It does not hold the
// value, which may be a secret.
type ConfigError struct {
	Field  string // name of the field
	Reason string // what is wrong and what to do
}

// Error gives the field and the reason.
func (e *ConfigError) Error() string { return fmt.Sprintf("network: %s: %s", e.Field, e.Reason) }

// complete fills the defaults in.
func (c Config) complete() Config {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.ServicePrefix = cmp.Or(c.ServicePrefix, DefaultServicePrefix)
	c.TimestampWindow = cmp.Or(c.TimestampWindow, DefaultTimestampWindow)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, DefaultMaxConcurrent)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// shanghai works without a time zone database too: its clocks have not been
// changed since 1991.
func shanghai() *time.Location {
	if zone, err := time.LoadLocation("Asia/Shanghai"); err == nil {
		return zone
	}
	return time.FixedZone("Asia/Shanghai", 8*60*60)
}

// check returns a [*ConfigError] for every field that is wrong, joined.
func (c Config) check() error {
	var errs []error
	if strings.Contains(c.ServicePrefix, ".") || checkKey("ServicePrefix", c.ServicePrefix) != nil {
		errs = append(errs, &ConfigError{"ServicePrefix", `give letters, digits and "_ ~ -" only`})
	}
	if c.RefuseReplays && c.TimestampWindow < 0 {
		errs = append(errs, &ConfigError{"RefuseReplays", "nothing ends the memory of what was taken, give a TimestampWindow that is not negative"})
	}
	if c.MaxConcurrent < 0 {
		errs = append(errs, &ConfigError{"MaxConcurrent", "negative, give at least 1"})
	}
	u, err := url.Parse(c.BaseURL)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	if c.BaseURL != "" && (!web || u.User != nil || strings.ContainsAny(c.BaseURL, "?#")) {
		errs = append(errs, &ConfigError{"BaseURL", "write it like https://api.example.com/path, without user, query and fragment"})
	}
	return errors.Join(errs...)
}

// basePath is the path of BaseURL, as a request has it.
func (c Config) basePath() string {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// maxKey bounds a key, in bytes.
const maxKey = 64

// checkKey accepts what may stand in a path as it is, because the path that is
// signed has to be the path that is sent.
func checkKey(field, key string) error {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._~-", r))
	}
	if key == "" || len(key) > maxKey || strings.Trim(key, ".") == "" ||
		strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		return &ConfigError{field, `give 1 to 64 letters, digits and ". _ ~ -", not dots alone`}
	}
	return nil
}
