package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds, in bytes, how much of a text that others wrote stands in
// an error.
const maxMessage = 200

// ErrNotFound says that the network answered with success and without an
// order: it does not know the order that was asked for.
var ErrNotFound = errors.New("the network has no such order")

// Temporary reports whether the same call may pass later without anybody
// changing anything. It asks the first error of the chain that knows.
func Temporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

// TransportError says that no whole answer came: no connection, a timeout, an
// answer that broke off.
type TransportError struct {
	Service  string // operation that was called
	Attempts int    // requests sent, this one included
	Err      error  // cause; [context.DeadlineExceeded] when the attempt's time was up
}

// Error gives the operation, the attempts and the cause.
func (e *TransportError) Error() string {
	return fmt.Sprintf("%s: no answer%s: %s", e.Service, after(e.Attempts), clean(e.Err.Error()))
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// Temporary is true: the way to the network may be better later.
func (e *TransportError) Temporary() bool { return true }

// HTTPError says that the answer's HTTP status was not 200. A redirect is such
// an answer, because a signed request is not sent elsewhere.
type HTTPError struct {
	Service    string        // operation that was called
	Attempts   int           // requests sent, this one included
	StatusCode int           // HTTP status
	RetryAfter time.Duration // pause that the network asks for, at most 5 minutes; 0 when it asks for none
	Message    string        // the network's own text, as in [RefusedError]; "" when the answer held none
}

// Error gives the operation, the HTTP status, the attempts and the network's text.
func (e *HTTPError) Error() string {
	status := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	return fmt.Sprintf("%s: %s%s%s", e.Service, status, after(e.Attempts), said(e.Message))
}

// Temporary is true for 408, 429, 500, 502, 503 and 504.
func (e *HTTPError) Temporary() bool {
	switch e.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// RefusedError says that the network understood the call and refused it: the
// envelope's Status is no success (specification 7).
type RefusedError struct {
	Service    string        // operation that was called
	Attempts   int           // requests sent, this one included
	Status     int           // Status of the envelope
	RetryAfter time.Duration // as in [HTTPError]
	// Message is the network's own text and may be shown: at most 200 bytes,
	// without control characters, App Secret and signatures blotted out.
	Message string

	busy bool
}

// Error gives the operation, the Status, the attempts and the network's text.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: refused with Status %d%s%s", e.Service, e.Status, after(e.Attempts), said(e.Message))
}

// Temporary reports whether the network is only too busy now; see
// [Config.BusyStatus] for the rule.
func (e *RefusedError) Temporary() bool { return e.busy }

// BodyKind says what is wrong with the body of an answer.
type BodyKind string

// The kinds of unreadable bodies.
const (
	BodyHTML     BodyKind = "HTML instead of JSON"   // a page of a proxy or of the site
	BodyTooLarge BodyKind = "too large"              // more bytes than [Config.MaxBody]
	BodyCut      BodyKind = "cut short"              // ends in the middle of the JSON document
	BodySyntax   BodyKind = "not valid JSON"         // grammar, or more than 64 levels
	BodyShape    BodyKind = "not the expected shape" // valid JSON, but another type than the operation's
)

// BodyError says that an answer came whole and cannot be read. It never quotes
// the body.
type BodyError struct {
	Service  string   // operation that was called; "" from a function that parses only
	Attempts int      // requests sent, this one included; 0 from a function that parses only
	Kind     BodyKind // what is wrong
	Offset   int64    // where, in bytes from the start of the parsed text
	Err      error    // the details, nil when the kind says it all
}

// Error gives the operation, the kind, the place and the details.
func (e *BodyError) Error() string {
	var b strings.Builder
	if e.Service != "" {
		b.WriteString(e.Service + ": ")
	}
	fmt.Fprintf(&b, "unreadable answer%s, %s at byte %d", after(e.Attempts), e.Kind, e.Offset)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the details.
func (e *BodyError) Unwrap() error { return e.Err }

// Temporary is true for a page of HTML and for a document that is cut short or
// broken: a proxy or an overloaded server gave it, and another try may pass. An
// answer that is too large or has another shape will be so again.
func (e *BodyError) Temporary() bool {
	return e.Kind == BodyHTML || e.Kind == BodyCut || e.Kind == BodySyntax
}

// after tells the number of attempts when there was more than one.
func after(attempts int) string {
	if attempts <= 1 {
		return ""
	}
	return fmt.Sprintf(" after %d attempts", attempts)
}

func said(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// clean makes a foreign text fit for one line of an error: everything
// unprintable becomes a space, the rest is clipped.
func clean(s string) string {
	if cut := 4 * maxMessage; len(s) > cut {
		s = s[:cut]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return ' '
	}, s)
	return clip(strings.Join(strings.Fields(s), " "))
}

// clip cuts valid UTF-8 to maxMessage bytes between two characters, and marks
// the cut.
func clip(s string) string {
	const mark = "…"
	if len(s) <= maxMessage {
		return s
	}
	end := maxMessage - len(mark)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}
