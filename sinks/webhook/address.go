package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrAddress marks an address that the endpoint must not reach: a private one
// without AllowPrivate, a link-local one, or a public one over plain http. It
// is found when the address is dialled, or already in [New] where the URL holds
// the address itself.
var ErrAddress = errors.New("address not allowed")

// privatePrefixes are what AllowPrivate opens: this host, the private networks,
// and shared address space, which overlay networks use.
var privatePrefixes = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7"),
}

func isPrivate(a netip.Addr) bool {
	return slices.ContainsFunc(privatePrefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

// guard decides which addresses may be dialled.
type guard struct {
	public       *ssrf.Guardian
	allowPrivate bool
	onlyPrivate  bool // plain http, which must not leave the private network
}

func newGuard(allowPrivate bool) guard {
	return guard{public: ssrf.New(), allowPrivate: allowPrivate}
}

// check judges one resolved address. The error wraps [ErrAddress].
func (g guard) check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	private := isPrivate(a)
	if g.onlyPrivate && !private {
		return fmt.Errorf("%w: %s is no private address, and the url is plain http", ErrAddress, a)
	}
	if private && g.allowPrivate {
		return nil
	}
	if err := g.public.SafeAddr(a); err != nil {
		return fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return nil
}

// control is a [net.Dialer] Control: it sees the address after the name was
// resolved and just before the connection is made.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: not an address and a port", ErrAddress)
	}
	return g.check(to.Addr())
}

// checkURL returns the parsed URL, nil when it cannot be used, and tightens
// the guard for plain http.
func (c *Config) checkURL(p *problems, g *guard) *url.URL {
	const example = `write it like "https://partner.example.com/orders"`
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		p.add("url", "is missing", example)
		return nil
	case err != nil: // its text would quote the URL
		p.add("url", "is not a URL", example)
		return nil
	case u.Scheme != "https" && u.Scheme != "http":
		p.add("url", "has a scheme other than https", example)
		return nil
	case u.Hostname() == "" || !validPort(u.Port()):
		p.add("url", "has no host, or no valid port", example)
		return nil
	case u.Scheme == "http" && !c.AllowPrivate:
		p.add("url", "is plain http", "use https, or set allow_private: true for a receiver in your own network")
	}
	if u.User != nil {
		p.add("url", "holds a user or password", "put it into headers, as Authorization")
	}
	if u.Fragment != "" {
		p.add("url", "has a fragment (#…), which HTTP does not send", "leave it out")
	}
	g.onlyPrivate = u.Scheme == "http"
	c.checkHost(p, g, u.Hostname())
	return u
}

// checkHost judges a host that is written as an address already now, so that a
// check of the configuration finds it; names are judged when they are dialled.
func (c *Config) checkHost(p *problems, g *guard, host string) {
	a, err := netip.ParseAddr(host)
	if err != nil || (g.onlyPrivate && !c.AllowPrivate) {
		return
	}
	if err := g.check(a); err != nil {
		p.errs = append(p.errs, &ConfigError{p.endpoint, "url", err.Error(), addressHint, ErrAddress})
	}
}

const addressHint = "set allow_private: true for a receiver in your own network, and use https for any other"

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// origin reduces a URL to scheme and host: the rest may hold a token.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "no valid url"
	}
	return u.Scheme + "://" + u.Host
}
