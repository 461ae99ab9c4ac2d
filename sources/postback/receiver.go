package postback

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// The defaults of [Config].
const (
	DefaultPath        = "/push"
	DefaultClockWindow = 5 * time.Minute
	DefaultMaxWaiting  = 10_000
	DefaultConcurrency = 2
)

// Account is an account whose network pushes orders.
type Account struct {
	// Name is the last segment of the account's address: letters, digits and
	// ". _ ~ -".
	Name string
	// AppKey is compared with the one in a push, if that holds one.
	AppKey string
	// AppSecret is what pushes are signed with. It stands in no error and no log
	// line.
	AppSecret string
}

// Config says which pushes are taken. Accounts have to be given; the zero value
// of every other field means its default.
type Config struct {
	Accounts []Account
	// Path is what stands in front of "/{account}" in the address that the network
	// is given, "/push" when empty. It is signed, so a proxy must not change it.
	Path string
	// ClockWindow is how far, either way, the Timestamp of a push may be from the
	// clock; 5 minutes when 0, any distance when negative.
	ClockWindow time.Duration
	// MaxWaiting is how many orders of an account wait or are fetched at most;
	// more are answered "-1". 10,000 when 0.
	MaxWaiting int
	// Concurrency is how many orders of an account are fetched at once; 2 when 0,
	// so that pushes leave a poll its share of the account's rate.
	Concurrency int

	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Logger gets fetches that failed, without the order; nil means none.
	Logger *slog.Logger
}

// Order is what a push gives notice of.
type Order struct{ ProgramID, OrderSn string }

// Receiver is an [http.Handler] that takes pushes. Create it with [New].
type Receiver struct {
	config   Config
	accounts map[string]*inbox // by name
}

// ConfigError says which field of a [Config] is wrong and what to do. It does
// not hold the value.
type ConfigError struct {
	Field  string // name of the field
	Reason string // what is wrong and what to do
}

// Error gives the field and the reason.
func (e *ConfigError) Error() string { return fmt.Sprintf("postback: %s: %s", e.Field, e.Reason) }

// New returns a receiver that takes nothing yet; see [Receiver.Run]. The error
// holds a [*ConfigError] for every field that is wrong.
func New(c Config) (*Receiver, error) {
	c.Path = cmp.Or(c.Path, DefaultPath)
	c.ClockWindow = cmp.Or(c.ClockWindow, DefaultClockWindow)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, DefaultMaxWaiting)
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Receiver{config: c, accounts: make(map[string]*inbox, len(c.Accounts))}
	errs := []error{c.check()}
	for _, a := range c.Accounts {
		if _, again := r.accounts[a.Name]; again {
			errs = append(errs, &ConfigError{"Accounts", "two have the same name"})
		}
		r.accounts[a.Name] = &inbox{Account: a, Receiver: r}
	}
	return r, errors.Join(errs...)
}

func (c Config) check() error {
	var errs []error
	refuse := func(wrong bool, field, reason string) {
		if wrong {
			errs = append(errs, &ConfigError{field, reason})
		}
	}
	refuse(!ValidPath(c.Path), "Path", `write it like /push: segments of letters, digits and ". _ ~ -"`)
	refuse(len(c.Accounts) == 0, "Accounts", "empty; give the accounts whose network pushes orders")
	for _, a := range c.Accounts {
		refuse(!ValidPath("/"+a.Name) || strings.Contains(a.Name, "/"), "Name", `not usable in an address; give letters, digits and ". _ ~ -"`)
		refuse(a.AppSecret == "", "AppSecret", "empty; give the App Secret that signs the pushes")
	}
	refuse(c.MaxWaiting < 0, "MaxWaiting", "negative; give at least 1")
	refuse(c.Concurrency < 0, "Concurrency", "negative; give at least 1")
	return errors.Join(errs...)
}

// ValidPath reports whether pushes can be signed for a path: it has segments of
// letters, digits and ". _ ~ -", which need no escape, and ends without a slash.
func ValidPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	for segment := range strings.SplitSeq(rest, "/") {
		ok = ok && strings.Trim(segment, ".") != "" && !strings.ContainsFunc(segment, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._~-", r)
		})
	}
	return ok
}
