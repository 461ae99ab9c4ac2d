package main_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// deliverEvents is the number of events that [BenchmarkDeliver] sends.
const deliverEvents = 100_000

// deliverAtOnce is the most deliveries under way.
const deliverAtOnce = 256

func drainBody(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

// counter is a receiver that counts, and notes when the first and the last
// delivery came.
type counter struct {
	server      *httptest.Server
	count       atomic.Int64
	first, last atomic.Int64
	want        int64
	done        chan struct{}
}

func newCounter(b *testing.B, want int) *counter {
	b.Helper()
	c := &counter{want: int64(want), done: make(chan struct{})}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		statusOnly(w, r)
		now := time.Now().UnixNano()
		switch c.count.Add(1) {
		case 1:
			c.first.Store(now)
		case c.want:
			c.last.Store(now)
			close(c.done)
		}
	}))
	b.Cleanup(c.server.Close)
	return c
}

// rate waits for the last delivery and returns deliveries a second.
func (c *counter) rate() float64 {
	<-c.done
	return float64(c.want-1) / time.Duration(c.last.Load()-c.first.Load()).Seconds()
}

// BenchmarkDeliver is how fast events go from the log to a receiver on this
// machine, 256 at a time, from the first arrival to the last:
//
//	bare     a plain client that signs and posts bodies which it has in memory
//	courier  log, courier and endpoint in this process, the log's server beside it
//	program  orderwire run --only webhook, with the server in its process
//
// The receiver is in this process and takes its share of the processors. p99-ms is
// that of an attempt, ×bare the share of the plain client's rate in the same run.
func BenchmarkDeliver(b *testing.B) {
	dir, _ := filledLog(b, deliverEvents)
	var limit float64
	for _, c := range []struct {
		name    string
		deliver func(b *testing.B, dir string) (perSecond float64)
	}{{"bare", bareDeliver}, {"courier", courierDeliver}, {"program", programDeliver}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				rate := c.deliver(b, dir)
				b.ReportMetric(rate, "events/s")
				if c.name == "bare" {
					limit = rate
				} else if limit > 0 {
					b.ReportMetric(rate/limit, "×bare")
				}
			}
		})
	}
}

// entries reads the log.
func entries(b *testing.B, dir string) (all []schema.Entry) {
	b.Helper()
	url, stop := startServer(b, dir)
	defer stop()
	log := pipelinetest.Log(b, url)
	defer func() { _ = log.Close() }()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	in, err := log.Follow(ctx, 0)
	if err != nil {
		b.Fatal(err)
	}
	for len(all) < deliverEvents {
		m := <-in
		m.Ack()
		e, err := pipeline.ReadEntry(m)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// bareDeliver is the limit: what can be sent at all.
func bareDeliver(b *testing.B, dir string) float64 {
	all := entries(b, dir)
	bodies := make([][]byte, len(all))
	for i, e := range all {
		var err error
		if bodies[i], err = webhook.Body(e); err != nil {
			b.Fatal(err)
		}
	}
	secret := webhook.NewSecret()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		b.Fatal(err)
	}
	c := newCounter(b, len(all))
	transport := &http.Transport{MaxIdleConnsPerHost: deliverAtOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var next atomic.Int64
	var group sync.WaitGroup
	times := make([]time.Duration, len(all))
	for range deliverAtOnce {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				start := time.Now()
				if err := signedPost(b.Context(), client, c.server.URL, key, all[i].Event.ID, bodies[i]); err != nil {
					b.Error(err)
					return
				}
				times[i] = time.Since(start)
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(percentile(times, 99).Microseconds())/1000, "p99-ms")
	return c.rate()
}

func signedPost(ctx context.Context, client *http.Client, url string, key []byte, id string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, id+"."+at+".")
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(webhook.HeaderID, id)
	req.Header.Set(webhook.HeaderTimestamp, at)
	req.Header.Set(webhook.HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// timed measures attempts.
type timed struct {
	*webhook.Endpoint
	mu  sync.Mutex
	all []time.Duration
}

// Attempt implements [pipeline.Answering].
func (t *timed) Attempt(ctx context.Context, e schema.Entry) (int, error) {
	start := time.Now()
	status, err := t.Endpoint.Attempt(ctx, e)
	took := time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, took)
	return status, err
}

func courierDeliver(b *testing.B, dir string) float64 {
	url, stop := startServer(b, dir)
	defer stop()
	log := pipelinetest.Log(b, url)
	defer func() { _ = log.Close() }()
	c := newCounter(b, deliverEvents)
	endpoint, err := webhook.New(webhook.Config{Name: "bench", URL: c.server.URL, Secret: webhook.NewSecret(), AllowPrivate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer endpoint.Close()
	t := &timed{Endpoint: endpoint}
	courier := pipeline.NewCourier(pipeline.CourierConfig{
		Name: fmt.Sprintf("bench-%d", time.Now().UnixNano()), Deliverer: t, Follow: log.Follow, Bury: log.Bury, Cursors: log,
		Parked: log, Recall: log.Next, Concurrency: deliverAtOnce,
	})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- courier.Run(ctx) }()
	rate := c.rate()
	cancel()
	if err := errors.Join(<-ended); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(percentile(t.all, 99).Microseconds())/1000, "p99-ms")
	return rate
}

func programDeliver(b *testing.B, dir string) float64 {
	c := newCounter(b, deliverEvents)
	p := launch(b, "run", "-c", delivering(b, dir, benchEndpoint(c.server.URL)), "--only", "webhook")
	defer p.kill()
	rate := c.rate()
	b.ReportMetric(peakMiB(p.cmd.Process.Pid), "peak-MiB")
	return rate
}

// benchEndpoint is an endpoint that no earlier run has delivered to.
func benchEndpoint(url string) string {
	return fmt.Sprintf("  - {name: bench-%d, url: '%s', secret: '%s', allow_private: true, concurrency: %d}\n",
		time.Now().UnixNano(), url, webhook.NewSecret(), deliverAtOnce)
}

// BenchmarkParkedMemory is the memory of the program, its server included, when
// 10,000 of 20,000 orders are parked, beside none.
func BenchmarkParkedMemory(b *testing.B) {
	for _, parked := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("parked=%d", parked), func(b *testing.B) {
			for b.Loop() {
				dir, ids := filledLog(b, 200_000)
				reached := make(chan struct{})
				var taken, refused sync.Map
				var left atomic.Int64
				left.Store(int64(len(ids) - parked*(versionsEach-1)))
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					_, rest, _ := bytes.Cut(body, []byte(`"OrderSn":"SN-`))
					n, _ := strconv.Atoi(string(rest[:6]))
					status, seen := http.StatusNoContent, &taken
					if n < 2*parked && n%2 == 0 {
						status, seen = http.StatusInternalServerError, &refused
					}
					w.WriteHeader(status)
					if _, again := seen.LoadOrStore(r.Header.Get(webhook.HeaderID), true); !again && left.Add(-1) == 0 {
						close(reached)
					}
				}))
				p := launch(b, "run", "-c", delivering(b, dir, benchEndpoint(server.URL)), "--only", "webhook")
				<-reached
				b.ReportMetric(residentMiB(b, p.cmd.Process.Pid), "resident-MiB")
				b.ReportMetric(peakMiB(p.cmd.Process.Pid), "peak-MiB")
				p.kill()
				server.Close()
			}
		})
	}
}

// residentMiB is the memory that a process has resident now.
func residentMiB(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	var kib float64
	_, _ = fmt.Sscanf(string(rest), "%f kB", &kib)
	return kib / 1024
}
