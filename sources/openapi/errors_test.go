package openapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sources/openapi"
)

func TestHTTPErrors(t *testing.T) {
	tests := []struct {
		code      int
		temporary bool
	}{
		{http.StatusNoContent, false}, {http.StatusCreated, false}, {http.StatusNotModified, false},
		{http.StatusBadRequest, false}, {http.StatusUnauthorized, false}, {http.StatusForbidden, false},
		{http.StatusNotFound, false}, {http.StatusNotImplemented, false}, {599, false},
		{http.StatusRequestTimeout, true}, {http.StatusTooManyRequests, true}, {http.StatusInternalServerError, true},
		{http.StatusBadGateway, true}, {http.StatusServiceUnavailable, true}, {http.StatusGatewayTimeout, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.code), func(t *testing.T) {
			c, requests := serve(t, status(tt.code, ""), func(cfg *openapi.Config) { cfg.MaxAttempts = 3 })
			_, err := c.Orders(t.Context(), dayQuery)
			var got *openapi.HTTPError
			if !errors.As(err, &got) || got.StatusCode != tt.code || openapi.Temporary(err) != tt.temporary {
				t.Fatalf("got %v", err)
			}
			want := map[bool]int{true: 3, false: 1}[tt.temporary]
			if got.Attempts != want || int(requests.Load()) != want {
				t.Errorf("%d attempts, %d requests, want %d", got.Attempts, requests.Load(), want)
			}
		})
	}
}

func TestHTTPErrorKeepsTheNetworksWords(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"Status":401,"Message":"key is\nlocked"}`, "svc.open-service.orders.query.get: HTTP 403 Forbidden: key is locked"},
		{`<html>secret page</html>`, "svc.open-service.orders.query.get: HTTP 403 Forbidden"},
	}
	for _, tt := range tests {
		c, _ := serve(t, status(http.StatusForbidden, tt.body), nil)
		if _, err := c.Orders(t.Context(), dayQuery); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, own := range []*http.Client{nil, {}} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("a signed request went elsewhere")
		}))
		c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, func(cfg *openapi.Config) { cfg.HTTPClient = own })
		_, err := c.Orders(t.Context(), dayQuery)
		var got *openapi.HTTPError
		if !errors.As(err, &got) || got.StatusCode != http.StatusTemporaryRedirect || got.Temporary() {
			t.Errorf("err = %v, want HTTP 307", err)
		}
		elsewhere.Close()
	}
}

func TestTransportErrors(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	brokenOff, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"Status":0`)
	}, nil)
	tests := []struct {
		name  string
		c     *openapi.Client
		cause error
	}{
		{"nobody listens", newClient(t, closed.URL, nil), nil},
		{"the answer breaks off", brokenOff, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.c.Orders(t.Context(), dayQuery)
			var got *openapi.TransportError
			if !errors.As(err, &got) || got.Attempts != openapi.DefaultMaxAttempts || !openapi.Temporary(err) {
				t.Fatalf("got %v", err)
			}
			if tt.cause != nil && !errors.Is(err, tt.cause) {
				t.Errorf("got %v, want %v", err, tt.cause)
			}
			if !strings.Contains(err.Error(), "no answer after 5 attempts: ") || strings.Contains(err.Error(), testKey) {
				t.Errorf("message: %v", err)
			}
		})
	}
}

// page answers with a body of a content type.
func page(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		io.WriteString(w, body)
	}
}

func TestBodyErrors(t *testing.T) {
	private := "Jane Doe"
	tests := []struct {
		name   string
		answer http.HandlerFunc
		kind   openapi.BodyKind
		offset int64
	}{
		{"HTML", page("text/html; charset=utf-8", emptyPage), openapi.BodyHTML, 0},
		{"XHTML", page("application/xhtml+xml", emptyPage), openapi.BodyHTML, 0},
		{"HTML that says JSON", page("application/json", "<html>"+private), openapi.BodyHTML, 0},
		{"text", page("text/plain", private), openapi.BodySyntax, 0},
		{"nothing", page("application/json", ""), openapi.BodyCut, 0},
		{"half JSON", page("application/json", `{"Status":0,"Data":[{"Name":"`+private), openapi.BodyCut, 37},
		{"broken JSON", page("application/json", `{"Status":0,"Data":["`+private+`"}`), openapi.BodySyntax, 30},
		{"too large", page("application/json", emptyPage+strings.Repeat(" ", 1000)), openapi.BodyTooLarge, 1000},
		{"too large when unpacked", zipped(emptyPage + strings.Repeat(" ", 1e6)), openapi.BodyTooLarge, 1000},
		{"another shape", page("application/json", `{"Status":0,"Data":"`+private+`"}`), openapi.BodyShape, 19},
		{"no envelope", page("application/json", `{"error":"`+private+`"}`), openapi.BodyShape, 0},
		{"neither Status nor Data", page("application/json", `{"Message":"`+private+`","Data":null}`), openapi.BodyShape, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, requests := serve(t, tt.answer, func(cfg *openapi.Config) { cfg.MaxBody = 1000 })
			_, err := c.Orders(t.Context(), dayQuery)
			var got *openapi.BodyError
			if !errors.As(err, &got) || got.Kind != tt.kind || got.Offset != tt.offset {
				t.Fatalf("got %v; want %s at byte %d", err, tt.kind, tt.offset)
			}
			temporary := tt.kind != openapi.BodyTooLarge && tt.kind != openapi.BodyShape
			want := 1
			if temporary {
				want = openapi.DefaultMaxAttempts
			}
			if int(requests.Load()) != want || got.Attempts != want || openapi.Temporary(err) != temporary {
				t.Errorf("%d requests, temporary %v", requests.Load(), openapi.Temporary(err))
			}
			if text := err.Error(); strings.Contains(text, private) || !strings.HasPrefix(text, "svc.open-service.orders.query.get: ") {
				t.Errorf("message: %s", text)
			}
		})
	}
}

// zipped answers with a packed body to who asks for it.
func zipped(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, body)
		z.Close()
	}
}

func TestLargestBody(t *testing.T) {
	body := emptyPage + strings.Repeat(" ", 1000-len(emptyPage))
	for name, h := range map[string]http.HandlerFunc{"plain": page("application/json", body), "packed": zipped(body)} {
		c, _ := serve(t, h, func(cfg *openapi.Config) { cfg.MaxBody = 1000 })
		if _, err := c.Orders(t.Context(), dayQuery); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The log of retries tells what went wrong, and nothing that is nobody's
// business.
func TestLogHoldsNoSecrets(t *testing.T) {
	var log bytes.Buffer
	var sent []string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, params := bodyOf(t, r)
		sent = append(sent, params["Sign"].(string))
		io.WriteString(w, `{"Status":503,"Message":"busy `+testSecret+` `+sent[len(sent)-1]+`","Data":[{"Name":"Jane Doe"}]}`)
	}, func(cfg *openapi.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&log, nil)); cfg.MaxAttempts = 3 })
	_, err := c.Orders(t.Context(), dayQuery)
	text := log.String() + fmt.Sprintf("%v %+v", err, errors.Unwrap(err))
	for _, secret := range append(sent, testSecret, "Jane Doe", testKey) {
		if strings.Contains(text, secret) {
			t.Errorf("%q stands in: %s", secret, text)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(text, "attempt=2") || !strings.Contains(text, "Status 503") {
		t.Errorf("log: %s", text)
	}
}

// An answer that is of no use is still read, so its connection serves again.
func TestConnectionIsKept(t *testing.T) {
	var from []string
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from = append(from, r.RemoteAddr)
		page("text/html", strings.Repeat("x", 5000))(w, r)
	}, func(cfg *openapi.Config) { cfg.MaxAttempts = 1 })
	for range 3 {
		if err := c.Check(t.Context()); err == nil {
			t.Fatal("no error")
		}
	}
	if len(from) != 3 || from[0] != from[1] || from[1] != from[2] {
		t.Errorf("connections %v, want one", from)
	}
}

func TestTemporary(t *testing.T) {
	if openapi.Temporary(nil) || openapi.Temporary(io.EOF) || openapi.Temporary(openapi.ErrNotFound) || openapi.Temporary(context.Canceled) {
		t.Error("temporary without knowing")
	}
	wrapped := fmt.Errorf("account main: %w", &openapi.HTTPError{StatusCode: 503})
	if !openapi.Temporary(wrapped) {
		t.Error("a wrapped HTTP 503 is not temporary")
	}
}
