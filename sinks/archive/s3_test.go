package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Two archivers of one prefix cut differently: the entry of the manifest decides,
// and the loser leaves nothing and removes nothing of the winner's.
func TestTwoArchiversOfABucket(t *testing.T) {
	t.Parallel()
	dir, log := newPrefix(t), entries(t, 12)
	winner, loser := open(t, Config{Dir: dir}), open(t, Config{Dir: dir})
	if err := loser.Write(t.Context(), log[:6]); err != nil {
		t.Fatal(err)
	}
	write(t, winner, log[:4])
	var locked *LockedError
	if err := loser.Flush(t.Context()); !errors.As(err, &locked) || !strings.Contains(err.Error(), "commit 1") {
		t.Fatalf("error %v", err)
	}
	exactlyOnce(t, dir, log[:4])
	if position, err := loser.Position(t.Context()); err != nil || position != 4 {
		t.Fatalf("position %d, %v", position, err)
	}
	write(t, loser, log[4:])
	exactlyOnce(t, dir, log)
}

// An archiver opens while another one has its files in place and is about to
// commit them: they stay, and the second repeats the very same batch.
func TestOpenBesideACommitUnderWay(t *testing.T) {
	t.Parallel()
	dir, log := newPrefix(t), entries(t, 8)
	var second *Archive
	at, err := openAt(t.Context(), dir, func(op, path string) error {
		if second == nil && strings.Contains(path, manifestDir) {
			second = open(t, Config{Dir: dir, RollBytes: 1})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := openPlace(t.Context(), Config{Dir: dir}, at)
	if err != nil {
		t.Fatal(err)
	}
	write(t, first, log[:4])
	exactlyOnce(t, dir, log[:4])
	if s := second.Stats(); s.Repeating != 4 {
		t.Fatalf("figures %+v", s)
	}
	before := tree(t, dir)
	if err := second.Write(t.Context(), log[:4]); err != nil {
		t.Errorf("the same batch once more: %v", err)
	}
	sameTree(t, before, tree(t, dir))
	if err := second.Write(t.Context(), log[4:]); err != nil {
		t.Fatal(err)
	}
	exactlyOnce(t, dir, log)
}

// A batch that the log has lost in part is cut otherwise; what the crash has
// left of it goes with the next commit.
func TestUnfinishedBatchOfATrimmedLogInABucket(t *testing.T) {
	t.Parallel()
	for _, from := range []int{3, 8} {
		dir, log := newPrefix(t), entries(t, 12)
		crash := func(_, path string) error {
			if strings.Contains(path, manifestDir) {
				return errCrash
			}
			return nil
		}
		if err := runUntil(t.Context(), Config{Dir: dir}, log[:8], 4, nil, crash); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if n := len(visible(t, dir)); n != 2 {
			t.Fatalf("%d files before the restart", n)
		}
		write(t, open(t, Config{Dir: dir}), log[from:])
		exactlyOnce(t, dir, log[from:])
		for name := range tree(t, dir) {
			if strings.HasPrefix(name, intentDir) {
				t.Errorf("%s is left", name)
			}
		}
	}
}

// An upload that is not completed leaves no object.
func TestUploadThatEndsEarly(t *testing.T) {
	t.Parallel()
	dir := newPrefix(t)
	crash := func(op, _ string) error {
		if op == "complete" {
			return errCrash
		}
		return nil
	}
	if err := runUntil(t.Context(), Config{Dir: dir}, entries(t, 4), 4, nil, crash); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	if got := visible(t, dir); len(got) != 0 {
		t.Errorf("readers see %v", got)
	}
}

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
	return g.endpoint
}

// What a store refuses is said with what to do.
func TestUnusableBucket(t *testing.T) {
	t.Parallel()
	dir := newPrefix(t)
	answer := func(code string, status int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>no</Message></Error>"))
		}))
		t.Cleanup(server.Close)
		return "s3://lake/x?region=us-east-1&endpoint=" + server.URL
	}
	tests := []struct {
		name, address, want string
		is                  error
	}{
		{"no bucket", strings.Replace(dir, "//lake", "//pond", 1), "NoSuchBucket: ", nil},
		{"refused", answer("AccessDenied", 403), "let these credentials read, write, list and delete there", fs.ErrPermission},
		{"wrong secret", answer("SignatureDoesNotMatch", 403), "AWS_ACCESS_KEY_ID", fs.ErrPermission},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), Config{Dir: tt.address})
			var storage *StorageError
			if !errors.As(err, &storage) || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(err.Error(), "the log holds the events until then") {
				t.Errorf("no hint: %v", err)
			}
		})
	}
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

func TestAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct{ address, want string }{
		{"s3://AKIA:s3cret@lake/x", "holds credentials"},
		{"s3://lake/x?region=a&secret_access_key=s3cret", "parameter other than one region"},
		{"s3://lake/x?region=a&region=b", "parameter other than one region"},
		{"s3://lake/x?endpoint=http://AKIA:s3cret@host", "has an endpoint that is no"},
		{"s3://lake/x?endpoint=host:9000", "has an endpoint that is no"},
		{"s3:///x", "names no bucket"},
		{"s3://host:9000/lake", "names no bucket"},
		{"s3://lake/%zz?s3cret", "is no address"},
		{"s3://lake/x?a=%zzs3cret", "parameters that cannot be read"},
	}
	for _, tt := range tests {
		err := CheckAddress(tt.address)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", tt.address, err)
		}
	}
	good := []string{"s3://lake", "s3://lake/a/b/?region=eu-central-1&endpoint=https://host:9000", "data/archive", "/srv/s3"}
	if i := slices.IndexFunc(good, func(a string) bool { return CheckAddress(a) != nil }); i >= 0 {
		t.Errorf("%s: %v", good[i], CheckAddress(good[i]))
	}
}
