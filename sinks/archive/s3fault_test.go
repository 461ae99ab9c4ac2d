package archive

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Every third request fails, and of the next the answer is lost.
func TestFaultyStore(t *testing.T) {
	t.Parallel()
	dir, events := newPrefix(t), entries(t, 12)
	u, err := url.Parse(theEndpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	var requests, lost atomic.Int64
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0),
		Rewrite:  func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = u.Scheme, u.Host },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPut && strings.Contains(r.Request.URL.Path, manifestDir) && lost.Add(1) == 1 {
				return errors.New("the answer is lost")
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%3 == 0 {
			w.WriteHeader([]int{500, 503}[requests.Load()%2])
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	faulty := strings.Replace(dir, u.String(), server.URL, 1)
	write(t, open(t, Config{Dir: faulty}), events)
	exactlyOnce(t, dir, events)
	if requests.Load() < 9 || lost.Load() < 2 {
		t.Errorf("%d requests, %d attempts at the entry", requests.Load(), lost.Load())
	}
}

func theEndpoint(t *testing.T) string {
	t.Helper()
	g, err := theGateway()
	if err != nil {
		t.Fatal(err)
	}
	return g.Endpoint
}

// A store that is away ends the attempt with an error, and the batch comes again.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	dir, log := newPrefix(t), entries(t, 4)
	u, err := url.Parse(theEndpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(u)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	a := open(t, Config{Dir: strings.Replace(dir, u.String(), server.URL, 1)})
	if err := a.Write(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var storage *StorageError
	if err := a.Flush(ctx); !errors.As(err, &storage) {
		t.Fatalf("error %v", err)
	}
	away.Store(false)
	if position, err := a.Position(t.Context()); err != nil || position != 0 {
		t.Fatalf("position %d, %v", position, err)
	}
	write(t, a, log)
	exactlyOnce(t, dir, log)
}
