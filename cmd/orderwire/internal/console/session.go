package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"
)

const (
	cookieName = "orderwire_session"
	// sessionLife is how long a session lasts after the login.
	sessionLife = 12 * time.Hour
	// mostSessions bounds them; the oldest goes first.
	mostSessions = 256
	// bearer is the session of programs that send the token with each request.
	bearer = "bearer"
	// proxied and the name is that of a person whom a proxy has signed in.
	proxied = "proxied:"
	// formLimit bounds the body of a form, in bytes.
	formLimit = 64 << 10
)

// policy lets a page load what this service itself serves, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// sessions are those of people who have given the token. They end with the process.
type sessions struct {
	key []byte // of the forms' tokens

	mu    sync.Mutex
	until map[string]time.Time // by id
}

func newSessions() *sessions {
	return &sessions{key: []byte(rand.Text()), until: make(map[string]time.Time)}
}

// begin makes a session.
func (s *sessions) begin(now time.Time) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := ""
	for id, until := range s.until {
		if !now.Before(until) {
			delete(s.until, id)
		} else if oldest == "" || until.Before(s.until[oldest]) {
			oldest = id
		}
	}
	if len(s.until) >= mostSessions {
		delete(s.until, oldest)
	}
	id = rand.Text()
	s.until[id] = now.Add(sessionLife)
	return id
}

// has reports whether a session lasts.
func (s *sessions) has(id string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.until[id]
	return ok && now.Before(until)
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, id)
}

// formToken returns what the forms of a session carry; without a token to log in
// by, all visitors are one session, "".
func (s *sessions) formToken(id string) string {
	m := hmac.New(sha256.New, s.key)
	_, _ = m.Write([]byte(id)) // never fails
	return hex.EncodeToString(m.Sum(nil))
}

// session returns the id of the session of a request.
func (c *console) session(r *http.Request) (id string, ok bool) {
	if c.Gate.Free() {
		return "", true
	}
	if name, ok := c.Gate.Person(r); ok {
		return proxied + name, true
	}
	if c.Gate.Bears(r.Header.Get("Authorization")) {
		return bearer, true
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil || !c.sessions.has(cookie.Value, c.now()) {
		return "", false
	}
	return cookie.Value, true
}

// guarded sets the headers of every answer, and turns away who comes by another
// name or from another origin.
func (c *console) guarded(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, formLimit)
		switch {
		case c.Gate.Free() && !c.Gate.Local(r.Host):
			http.Error(w, "The console is asked for by the name of another machine: ask for it as 127.0.0.1 or localhost, or set http.token.", http.StatusMisdirectedRequest)
		case origin.Check(r) != nil:
			http.Error(w, "A page of another origin asks for a change.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// inSession lets through who has a session, and forms that carry its token.
func (c *console) inSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := c.session(r)
		switch {
		case !ok && r.Method == http.MethodGet:
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		case !ok:
			c.fail(w, r, &pageError{http.StatusUnauthorized, "Log in first; the session has ended."})
		case r.Method == http.MethodPost && !hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(c.sessions.formToken(id))):
			c.fail(w, r, &pageError{http.StatusForbidden, "The form is not of this session. Load the page again and repeat."})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (c *console) loginPage(w http.ResponseWriter, r *http.Request) error {
	if _, ok := c.session(r); ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return nil
	}
	c.show(w, r, http.StatusOK, "login", page{Title: "Log in"})
	return nil
}

func (c *console) login(w http.ResponseWriter, r *http.Request) error {
	if !c.Gate.Free() {
		if !c.Gate.Opens(r.PostFormValue("token")) {
			c.show(w, r, http.StatusUnauthorized, "login", page{Title: "Log in", Body: "That is not the token."})
			return nil
		}
		http.SetCookie(w, cookie(r, c.sessions.begin(c.now()), int(sessionLife.Seconds())))
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

func (c *console) logout(w http.ResponseWriter, r *http.Request) error {
	if id, ok := c.session(r); ok {
		c.sessions.end(id)
	}
	http.SetCookie(w, cookie(r, "", -1))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}

// cookie carries a session. It is for https alone when the visitor came by that.
func cookie(r *http.Request, id string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // over plain http, on this machine, a secure cookie would not come back
		Name: cookieName, Value: id, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: overHTTPS(r),
	}
}

// overHTTPS reports whether a visitor has come by https, perhaps to a proxy.
func overHTTPS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}
