package archive

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// uploads begins uploads in parts, and returns a function that lists those that
// are not ended.
func uploads(tb testing.TB, dir string, names ...string) (open func() []string) {
	tb.Helper()
	b := testBucket(tb, dir)
	var client *s3.Client
	if !b.bucket.As(&client) {
		tb.Fatal("no client")
	}
	for _, name := range names {
		_, err := client.CreateMultipartUpload(tb.Context(), &s3.CreateMultipartUploadInput{
			Bucket: aws.String(b.at.bucket), Key: aws.String(b.at.key(name)),
		})
		noError(tb, err)
	}
	return func() []string {
		list, err := client.ListMultipartUploads(tb.Context(), &s3.ListMultipartUploadsInput{
			Bucket: aws.String(b.at.bucket), Prefix: aws.String(b.at.key("")),
		})
		noError(tb, err)
		left := map[string]bool{}
		for _, u := range list.Uploads {
			left[strings.TrimPrefix(aws.ToString(u.Key), b.at.key(""))] = true
		}
		return slices.Sorted(maps.Keys(left))
	}
}

// Open ends the uploads of event files that a crash has left, below its own prefix
// and no others.
func TestUploadsThatACrashHasLeft(t *testing.T) {
	t.Parallel()
	dir, beside := newPrefix(t), newPrefix(t)
	file := partKey{account: "main"}.fileName(1, 4)
	others := uploads(t, beside, file)
	left := uploads(t, dir, file, file, ownDir+"/"+file, "notes.parquet")
	open(t, Config{Dir: dir})
	if got, want := left(), []string{ownDir + "/" + file, "notes.parquet"}; !slices.Equal(got, want) {
		t.Errorf("%v are left, want %v", got, want)
	}
	if got := others(); !slices.Equal(got, []string{file}) {
		t.Errorf("beside it %v are left", got)
	}
}

// An archiver that may not list uploads, or end one, works all the same.
func TestUploadsThatMayNotBeEnded(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{http.MethodGet, http.MethodDelete} {
		dir := newPrefix(t)
		u, err := url.Parse(theEndpoint(t))
		noError(t, err)
		proxy := httputil.NewSingleHostReverseProxy(u)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); r.Method == refused && (q.Has("uploads") || q.Has("uploadId")) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			proxy.ServeHTTP(w, r)
		}))
		defer server.Close()
		file := partKey{account: "main"}.fileName(1, 4)
		left, log := uploads(t, dir, file), entries(t, 4)
		write(t, open(t, Config{Dir: strings.Replace(dir, u.String(), server.URL, 1)}), log)
		exactlyOnce(t, dir, log)
		if got := left(); !slices.Equal(got, []string{file}) {
			t.Errorf("%s refused: %v are left", refused, got)
		}
	}
}
