package network

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// maxGrow bounds the memory that a request gets on its word, in bytes.
const maxGrow = 4 << 10

// retryAfter is what an overloaded service asks for, in seconds.
const retryAfter = "1"

// serve answers one request, or refuses it when too many are under way.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		s.writeRefusal(w, refuse(StatusOverload, "too many requests at once, try again later"))
		return
	}
	key, service, ok := splitPath(r.URL.EscapedPath(), s.basePath)
	switch {
	case !ok:
		s.writeRefusal(w, refuse(StatusNoRoute, "nothing has this path, want {APP_KEY}/{SERVICE}"))
	case r.Method == http.MethodPost:
		s.call(w, r, key, service)
	case key == linkFolder && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.followLink(w, r, service)
	default:
		w.Header().Set("Allow", allowed(key))
		s.writeRefusal(w, refuse(StatusMethod, "want the method POST"))
	}
}

// allowed are the methods of a path.
func allowed(key string) string {
	if key == linkFolder {
		return "GET, HEAD, POST"
	}
	return http.MethodPost
}

// splitPath takes "{base}/{KEY}/{SERVICE}" apart, as it was sent: the path is
// signed, and neither keys nor service names need percent escapes. Nothing is
// cleaned up: a path with an empty segment is no such path.
func splitPath(path, base string) (key, service string, ok bool) {
	path, ok = strings.CutPrefix(path, base+"/")
	if !ok {
		return "", "", false
	}
	key, service, ok = strings.Cut(path, "/")
	return key, service, ok && key != "" && service != "" && !strings.Contains(service, "/")
}

// call answers a call of the API.
func (s *Service) call(w http.ResponseWriter, r *http.Request, key, service string) {
	body, err := readBody(w, r)
	if err != nil {
		s.writeRefusal(w, err)
		return
	}
	a := answers.Get().(*answerBuffer)
	defer answers.Put(a)
	a.bytes = append(a.bytes[:0], `{"Status":0,"Message":"success","Data":`...)
	a.bytes, err = s.answer(r.Context(), request{
		key: key, service: service, contentType: r.Header.Get("Content-Type"), body: body, origin: s.origin(r),
	}, a.bytes)
	if err != nil {
		s.writeRefusal(w, err)
		return
	}
	a.bytes = append(a.bytes, '}')
	s.write(w, http.StatusOK, a.bytes)
}

// answerBuffer is memory in which one answer after the other is built. Writing
// an answer copies it.
type answerBuffer struct{ bytes []byte }

var answers = sync.Pool{New: func() any { return new(answerBuffer) }}

// readBody reads the body of a request as it stands.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, refuse(StatusBody, "Content-Encoding: want none")
	}
	if len(r.Header["Content-Type"]) > 1 {
		return nil, refuse(StatusBody, "Content-Type: want one")
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), maxGrow)) + bytes.MinRead)
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, refuse(StatusTooLarge, "body: want at most %d bytes", maxBody)
	case err != nil:
		return nil, refuse(StatusBody, "body: cut short")
	default:
		return body.Bytes(), nil
	}
}

// origin is the beginning of the links that are handed out to the request.
func (s *Service) origin(r *http.Request) string {
	switch {
	case s.config.BaseURL != "":
		return s.config.BaseURL
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// writeRefusal answers with the envelope of a failure and logs what is the
// service's own fault.
func (s *Service) writeRefusal(w http.ResponseWriter, err error) {
	r := s.refusalOf(err)
	if r.err != nil && !errors.Is(r.err, context.Canceled) {
		s.config.Logger.Error("request failed", slog.Int("status", int(r.status)), slog.Any("error", r.err))
	}
	code := r.status.HTTP()
	if code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter)
	}
	s.write(w, code, appendRefusal(nil, r.status, r.message))
}

func appendRefusal(b []byte, status Status, message string) []byte {
	b = strconv.AppendInt(append(b, `{"Status":`...), int64(status), 10)
	b, _ = jsontext.AppendQuote(append(b, `,"Message":`...), message) // the messages are ours, so UTF-8
	return append(b, '}')
}

func (s *Service) write(w http.ResponseWriter, code int, answer []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write(answer) //nolint:errcheck // the client is gone, nobody is left to be told
}
