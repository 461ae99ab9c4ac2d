package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxPause bounds what a receiver may ask for with Retry-After.
const maxPause = time.Hour

// ErrAnswer marks a connection that broke, or an answer that is no valid TLS or
// HTTP. What came is not quoted: it may be the delivery itself, sent back.
var ErrAnswer = errors.New("the connection broke, or what came is not valid TLS or HTTP")

// DeliveryError says why an attempt failed. Its text holds neither the body
// nor a secret, and of the URL only the scheme and the host.
type DeliveryError struct {
	Endpoint   string        // name of the endpoint
	Origin     string        // scheme and host of its URL
	EventID    string        // id of the event
	StatusCode int           // status of the answer, 0 when there was none
	Pause      time.Duration // what Retry-After asked for, at most 1 h; 0: nothing
	Cause      error         // why there was no answer; nil when StatusCode is set
	// Answer is the beginning of the answer's body, at most 1 KiB. A receiver
	// writes there what it likes, personal data too: it is no part of the
	// error's text and does not belong in a log.
	Answer []byte
}

// Error names endpoint, host, event and reason, with a hint where there is one.
func (e *DeliveryError) Error() string {
	return fmt.Sprintf("webhook %q (%s): event %s: %s", e.Endpoint, e.Origin, e.EventID, e.Reason())
}

// Reason is the text of the error without endpoint and event. Package pipeline
// looks for this method.
func (e *DeliveryError) Reason() string {
	switch {
	case e.StatusCode == http.StatusGone:
		return "answer 410 Gone: the receiver wants no more deliveries"
	case e.StatusCode/100 == 3:
		return fmt.Sprintf("answer %d: redirects are not followed; set url to the final address", e.StatusCode)
	case e.StatusCode != 0:
		return strings.TrimSpace(fmt.Sprintf("answer %d %s", e.StatusCode, http.StatusText(e.StatusCode)))
	case errors.Is(e.Cause, ErrEvent), errors.Is(e.Cause, ErrWhere):
		return "nothing sent: " + e.Cause.Error()
	case errors.Is(e.Cause, ErrAddress):
		return fmt.Sprintf("nothing sent: %v; %s", e.Cause, addressHint)
	case errors.Is(e.Cause, ErrCertificate):
		return "nothing sent: " + e.Cause.Error()
	case errors.Is(e.Cause, context.DeadlineExceeded):
		return "no answer in time"
	default:
		return fmt.Sprintf("no answer: %v", e.Cause)
	}
}

// Unwrap returns the cause, nil when the receiver answered.
func (e *DeliveryError) Unwrap() error { return e.Cause }

// RetryAfter returns the least pause that the receiver asked for before the
// next attempt; 0: none. Package pipeline looks for this method.
func (e *DeliveryError) RetryAfter() time.Duration { return e.Pause }

// Permanent reports whether another attempt is useless: after 410 Gone, with
// which a receiver ends its subscription, for an event that cannot be read, and
// for one on which the endpoint's expression fails.
// Every other status may pass, 4xx too, because receivers get mended. Package
// pipeline looks for this method.
func (e *DeliveryError) Permanent() bool {
	return e.StatusCode == http.StatusGone || errors.Is(e.Cause, ErrEvent) || errors.Is(e.Cause, ErrWhere)
}

func (e *Endpoint) failure(id string, cause error) *DeliveryError {
	return &DeliveryError{Endpoint: e.name, Origin: e.origin, EventID: id, Cause: cause}
}

func (e *Endpoint) refusal(id string, resp *http.Response, answer []byte) *DeliveryError {
	return &DeliveryError{
		Endpoint: e.name, Origin: e.origin, EventID: id, StatusCode: resp.StatusCode,
		Pause: retryAfter(resp.Header.Get("Retry-After"), e.now()), Answer: answer,
	}
}

// retryAfter reads seconds or an HTTP date (RFC 9110, section 10.2.3). What it
// cannot read counts as 0.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxPause/time.Second))) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return maxPause
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxPause)
}

// safeCause reduces a transport's error to a part whose text says what
// happened without quoting what was received: net/http quotes the first line
// of an answer that it cannot read.
func safeCause(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return context.DeadlineExceeded
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, http.ErrSchemeMismatch):
		return http.ErrSchemeMismatch
	}
	for _, part := range []error{
		as[*certificateError](err), as[*net.OpError](err), as[*net.DNSError](err), as[*tls.CertificateVerificationError](err), as[tls.RecordHeaderError](err),
	} {
		if part != nil {
			return part
		}
	}
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case isNet && netErr.Timeout():
		return context.DeadlineExceeded
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the receiver closed the connection: %w", io.ErrUnexpectedEOF)
	default:
		return ErrAnswer
	}
}

// as returns the error of type E within err, nil when there is none.
func as[E error](err error) error {
	if found, ok := errors.AsType[E](err); ok {
		return found
	}
	return nil
}
