package network_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkClick follows a link over HTTP, by so many browsers at once. The
// redirect of a click waits until it is written; that of HEAD, which records
// nothing, is beside it.
func BenchmarkClick(b *testing.B) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, browsers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", method, browsers), func(b *testing.B) {
				f := startBrand(b)
				path := f.server.URL + "/c/" + f.link(params{"Url": shopURL, "WebsiteId": website}).LinkId
				transport := &http.Transport{MaxIdleConnsPerHost: browsers}
				defer transport.CloseIdleConnections()
				took := make([]time.Duration, b.N)
				next := make(chan int, b.N)
				for i := range b.N {
					next <- i
				}
				close(next)
				var all, connected sync.WaitGroup
				connected.Add(browsers)
				for range browsers {
					all.Go(func() {
						visit(b, transport, http.MethodHead, path)
						connected.Done()
						connected.Wait()
						for i := range next {
							took[i] = visit(b, transport, method, path)
						}
					})
				}
				connected.Wait()
				b.ResetTimer()
				all.Wait()
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "clicks/s")
				if n := f.number(`SELECT COUNT(*) FROM clicks`); method == http.MethodGet && n != int64(b.N) {
					b.Errorf("%d clicks of %d are written", n, b.N)
				}
			})
		}
	}
}

// visit follows a link once and returns how long the answer took.
func visit(tb testing.TB, transport http.RoundTripper, method, path string) time.Duration {
	req, err := http.NewRequest(method, path, nil)
	if err != nil {
		tb.Error(err)
		return 0
	}
	begun := time.Now()
	res, err := transport.RoundTrip(req)
	if err != nil {
		tb.Error(err)
		return 0
	}
	took := time.Since(begun)
	if res.StatusCode != http.StatusFound {
		tb.Errorf("HTTP %d", res.StatusCode)
	}
	io.Copy(io.Discard, res.Body) //nolint:errcheck // only to use the connection again
	res.Body.Close()
	return took
}
