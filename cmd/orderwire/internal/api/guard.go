package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// secured sets the headers that every answer has. Nothing here is a page, and
// nothing is to be kept.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// guarded lets through who may ask.
func (s *service) guarded(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := s.refusal(r, origin); p != nil {
			p.write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Gate says who may ask: who has the token, and whom a proxy names. Without either it
// is free: everybody may who asks this machine by its own name.
type Gate struct {
	Token  string // that is asked for; "" for none
	Listen string // the configured host:port
	// Header is that by which a proxy names the person that it has signed in, by OpenID
	// Connect or however else; "" for none. It counts only in requests that come from
	// one of Proxies.
	Header  string
	Proxies []netip.Prefix
}

// Free reports whether nobody is asked who he is.
func (g Gate) Free() bool { return g.Token == "" && g.Header == "" }

// Person returns whom a proxy names, false when the request is not from one, or
// names nobody or several.
func (g Gate) Person(r *http.Request) (name string, ok bool) {
	if g.Header == "" || len(r.Header.Values(g.Header)) != 1 {
		return "", false
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) }) {
		return "", false
	}
	name = strings.TrimSpace(r.Header.Get(g.Header))
	return name, name != ""
}

// Admits reports whether a request has the token, or comes by a proxy that names who
// asks.
func (g Gate) Admits(r *http.Request) bool {
	_, named := g.Person(r)
	return named || g.Bears(r.Header.Get("Authorization"))
}

// Local reports whether a Host names this machine: by a loopback name or address,
// or as it is configured. It matters only for a gate that is free.
func (g Gate) Local(host string) bool {
	name := hostOf(host)
	if listen, _, err := net.SplitHostPort(g.Listen); err == nil && listen != "" && strings.EqualFold(name, listen) {
		return true
	}
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(name, "."), "localhost")
}

// Opens reports whether a token is the one that is asked for. Hashes are compared,
// so that the time tells not even its length. Where none is asked for, none opens.
func (g Gate) Opens(token string) bool {
	if g.Token == "" {
		return false
	}
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(g.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// Bears reports whether an Authorization header has the token.
func (g Gate) Bears(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	return g.Opens(token) && strings.EqualFold(scheme, "Bearer")
}

// refusal says why a request is not answered, nil when it is.
func (s *service) refusal(r *http.Request, origin *http.CrossOriginProtection) *ProblemError {
	switch {
	case s.Gate.Free() && !s.Gate.Local(r.Host):
		return problem(http.StatusMisdirectedRequest, "the service is asked for by the name of another machine", "ask for it as 127.0.0.1 or localhost, or set http.token")
	case !s.Gate.Free() && !s.Gate.Admits(r):
		return problem(http.StatusUnauthorized, "a bearer token is asked for", "send the value of http.token: Authorization: Bearer …")
	case origin.Check(r) != nil:
		return problem(http.StatusForbidden, "a page of another origin asks for a change", "send the request from a program, not from a page in a browser")
	case r.Method == http.MethodPost && !isJSON(r.Header.Get("Content-Type")):
		return problem(http.StatusUnsupportedMediaType, "the request does not say that it is JSON", "send Content-Type: application/json")
	}
	return nil
}

// hostOf takes the port off a Host.
func hostOf(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// nowhere answers for paths and methods that there are not.
func (s *service) nowhere(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if allowed := s.allowed(mux, r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			problem(http.StatusMethodNotAllowed, r.Method+" is not possible here", "use "+strings.Join(allowed, " or ")).write(w)
			return
		}
		problem(http.StatusNotFound, "there is nothing at this path", "/api/v1/openapi.yaml lists what there is").write(w)
	}
}

// allowed returns the methods that a path has.
func (s *service) allowed(mux *http.ServeMux, r *http.Request) []string {
	var all []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		as := &http.Request{Method: method, Host: r.Host, URL: r.URL}
		if _, pattern := mux.Handler(as); pattern != "/" && pattern != "" && !slices.Contains(all, method) {
			all = append(all, method)
		}
	}
	return all
}
