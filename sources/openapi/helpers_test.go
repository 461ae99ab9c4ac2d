package openapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/openapi"
)

const (
	testKey    = "2312521"
	testSecret = "s3cr3t-of-the-account"
	ordersPath = "/2312521/svc.open-service.orders.query.get"
	emptyPage  = `{"Status":0,"Message":"","Data":[]}`
)

// dayQuery is a query that every test may use.
var dayQuery = openapi.OrdersQuery{From: time.Unix(1692600000, 0), To: time.Unix(1692686400, 0), Page: 1, PageSize: 200}

// newClient builds a client that retries fast and is not rate limited.
func newClient(t *testing.T, baseURL string, change func(*openapi.Config)) *openapi.Client {
	t.Helper()
	cfg := openapi.Config{
		BaseURL: baseURL, AppKey: testKey, AppSecret: testSecret, RequestsPerSecond: -1,
		InitialBackoff: time.Microsecond, MaxBackoff: time.Microsecond,
	}
	if change != nil {
		change(&cfg)
	}
	c, err := openapi.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a server and returns a client of it, and the count of requests.
func serve(t *testing.T, h http.HandlerFunc, change func(*openapi.Config)) (*openapi.Client, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return newClient(t, s.URL, change), &requests
}

// answers serves the texts one after another, the last one for ever.
func answers(texts ...string) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		i := min(int(n.Add(1)), len(texts)) - 1
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, texts[i])
	}
}

// status answers with an HTTP status and a body.
func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// inMemory is a network without sockets, for tests under a fake clock.
type inMemory func(*http.Request) (*http.Response, error)

func (f inMemory) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// response builds an answer; header holds names and values in turn.
func response(code int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// bodyOf reads the parameters of a request.
func bodyOf(t *testing.T, r *http.Request) (raw []byte, params map[string]any) {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		t.Errorf("body %s: %v", raw, err)
	}
	return raw, params
}
