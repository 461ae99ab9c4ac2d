package openapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxRetryAfter bounds the pause that the network can ask for.
	maxRetryAfter = 5 * time.Minute
	// maxDrain bounds, in bytes, what is read of an answer that nobody wants.
	maxDrain = 64 << 10
)

// answer is what a successful call brings back.
type answer struct {
	Envelope
	list     listing   // filled when the call asks for a list
	at       time.Time // when the network answered, UTC
	attempts int       // requests sent
}

// attempt sends a call once. The error is one of the types of this package;
// n, the number of the attempt, goes into it.
func (c *Client) attempt(ctx context.Context, op call, n int) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	req, err := c.request(ctx, op)
	if err != nil {
		return answer{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, &TransportError{Service: op.service, Attempts: n, Err: withoutURL(err)}
	}
	defer resp.Body.Close()
	defer drain(resp.Body)
	a := answer{at: c.cfg.Now().UTC(), attempts: n}
	body, err := c.read(resp, op, n)
	if err != nil {
		return answer{}, err
	}
	var list *listing
	if op.list {
		list = &a.list
	}
	if a.Envelope, err = parseAnswer(body, list); err != nil {
		return answer{}, located(err, op, n)
	}
	return a, c.judge(a.Envelope, resp, op, n)
}

// read returns the body of an answer whose HTTP side is in order.
func (c *Client) read(resp *http.Response, op call, n int) ([]byte, error) {
	if resp.StatusCode != http.StatusOK {
		return nil, c.httpError(resp, op, n)
	}
	if isHTML(resp.Header.Get("Content-Type")) {
		return nil, &BodyError{Service: op.service, Attempts: n, Kind: BodyHTML}
	}
	var buf bytes.Buffer
	if l := resp.ContentLength; l > 0 && l <= c.cfg.MaxBody {
		buf.Grow(int(l) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(resp.Body, c.cfg.MaxBody+1)); err != nil {
		return nil, &TransportError{Service: op.service, Attempts: n, Err: err}
	}
	if int64(buf.Len()) > c.cfg.MaxBody {
		return nil, &BodyError{Service: op.service, Attempts: n, Kind: BodyTooLarge, Offset: c.cfg.MaxBody}
	}
	return buf.Bytes(), nil
}

// judge turns an envelope that is no success into an error.
func (c *Client) judge(e Envelope, resp *http.Response, op call, n int) error {
	switch {
	case e.NoStatus && e.HasData():
		return nil
	case e.NoStatus:
		return &BodyError{Service: op.service, Attempts: n, Kind: BodyShape, Err: errEnvelope}
	case slices.Contains(c.cfg.SuccessStatus, e.Status):
		return nil
	}
	return &RefusedError{
		Service: op.service, Attempts: n, Status: e.Status, Message: c.presentable(e.Message),
		RetryAfter: c.retryAfter(resp.Header), busy: busy(e.Status, e.Message, c.cfg.BusyStatus),
	}
}

// httpError also looks for the network's own words in the answer.
func (c *Client) httpError(resp *http.Response, op call, n int) error {
	e := &HTTPError{Service: op.service, Attempts: n, StatusCode: resp.StatusCode, RetryAfter: c.retryAfter(resp.Header)}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDrain))
	if err != nil {
		return e // the status says enough
	}
	if envelope, err := ParseEnvelope(body); err == nil {
		e.Message = c.presentable(envelope.Message)
	}
	return e
}

// retryAfter reads the header of that name, seconds or an HTTP date.
func (c *Client) retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(c.cfg.Now()), 0), maxRetryAfter)
	}
	seconds, err := strconv.ParseUint(value, 10, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

func isHTML(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == "text/html" || mediaType == "application/xhtml+xml")
}

// located completes the error of a parser, which does not know the call.
func located(err error, op call, n int) error {
	var e *BodyError
	if errors.As(err, &e) {
		e.Service, e.Attempts = op.service, n
	}
	return err
}

// withoutURL takes the address, which holds the App Key, off an error of
// net/http.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// drain reads what is left, so that the connection can serve again.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, maxDrain) }
