package network

import (
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// errDomain says that a text is not the name of a host.
var errDomain = errors.New("want a host name like shop.example")

// domainName returns the name of a host as domains are stored and compared:
// lower case, IDN in its ASCII form, without the dot at the end. It may be an
// IPv4 address.
func domainName(host string) (string, error) {
	if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7f }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", errDomain // the cause quotes the name
		}
		host = ascii
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > 253 {
		return "", errDomain
	}
	for label := range strings.SplitSeq(host, ".") {
		if !domainLabel(label) {
			return "", errDomain
		}
	}
	return host, nil
}

func domainLabel(label string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	return label != "" && len(label) <= 63 && strings.Trim(label, allowed) == ""
}

// domains are the domains that a host belongs to: its own name first, then
// label by label the longer ones before the shorter ones.
func domains(host string) []string {
	all := []string{host}
	for {
		_, rest, found := strings.Cut(host, ".")
		if !found {
			return all
		}
		all, host = append(all, rest), rest
	}
}

// asciiHost writes the host of an address in ASCII and leaves the rest as it
// is, because not every client of a redirect can do that.
func asciiHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	name, err := domainName(u.Hostname())
	before, rest, found := strings.Cut(address, "//")
	if err != nil || !found {
		return address
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if !strings.ContainsFunc(rest[:end], func(r rune) bool { return r > 0x7f || r == '%' }) {
		return address
	}
	if port := u.Port(); port != "" {
		name += ":" + port
	}
	return before + "//" + name + rest[end:]
}
