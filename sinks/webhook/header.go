package webhook

import (
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
)

// The headers of the Standard Webhooks specification.
const (
	HeaderID        = "webhook-id"        // id of the event
	HeaderTimestamp = "webhook-timestamp" // time of the attempt, Unix seconds
	HeaderSignature = "webhook-signature" // signatures, apart by spaces
)

// The same as [http.Header] has them.
var (
	canonicalID        = http.CanonicalHeaderKey(HeaderID)
	canonicalTimestamp = http.CanonicalHeaderKey(HeaderTimestamp)
	canonicalSignature = http.CanonicalHeaderKey(HeaderSignature)
)

// reservedHeaders are set by this package, or would change how the request is
// sent. All headers that begin with "Webhook-" or "Proxy-" are reserved too.
var reservedHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host",
	"Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

func checkHeaders(p *problems, headers map[string]string) {
	seen := make(map[string]bool, len(headers))
	for name, value := range headers {
		field, canonical := "headers."+printable(name), http.CanonicalHeaderKey(name)
		switch {
		case !validHeaderName(name):
			p.add(field, "is no header name", "use letters, digits and hyphens")
		case isReserved(canonical):
			p.add(field, "is set by Orderwire or by HTTP itself", "leave it out")
		case seen[canonical]:
			p.add(field, "stands there twice, in different case", "keep one of them")
		case !validHeaderValue(value):
			p.add(field, "has a line break or a control character in its value", "check the variable or file it comes from")
		}
		seen[canonical] = true
	}
}

func isReserved(canonical string) bool {
	return slices.Contains(reservedHeaders, canonical) ||
		strings.HasPrefix(canonical, "Webhook-") || strings.HasPrefix(canonical, "Proxy-")
}

// validHeaderName accepts the token of RFC 9110, section 5.6.2.
func validHeaderName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func validHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// printable replaces what would spoil an error's line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

// fixedHeaders returns what is the same in every request of an endpoint.
func fixedHeaders(custom map[string]string) http.Header {
	h := make(http.Header, len(custom)+6)
	for name, value := range custom {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", userAgent)
	return h
}

// userAgent is "Orderwire/" and the version of the program that this package
// is built into, "Orderwire/devel" when that has none.
var userAgent = func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "Orderwire/devel"
	}
	return "Orderwire/" + info.Main.Version
}()
