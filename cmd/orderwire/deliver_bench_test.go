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
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// deliverEvents is the number of events that [BenchmarkDeliver] sends.
const deliverEvents = 100_000

// deliverAtOnce is the most deliveries under way.
const deliverAtOnce = 256

// counter is a receiver that counts, and notes when the first and the last
// delivery came, and what the sender's processor time was then.
type counter struct {
	server      *httptest.Server
	count       atomic.Int64
	first, last atomic.Int64
	sender      atomic.Int64 // its process, 0 when it is this one
	spent       atomic.Int64 // by the sender from the first to the last, ns
	want        int64
	done        chan struct{}
}

func newCounter(b *testing.B, want int) *counter {
	b.Helper()
	c := &counter{want: int64(want), done: make(chan struct{})}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		now := time.Now().UnixNano()
		switch c.count.Add(1) {
		case 1:
			c.first.Store(now)
			c.spent.Store(-int64(processorTime(int(c.sender.Load()))))
		case c.want:
			c.last.Store(now)
			c.spent.Add(int64(processorTime(int(c.sender.Load()))))
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

// delivered is what a round of [BenchmarkDeliver] came to.
type delivered struct {
	rate  float64       // deliveries a second, from the first arrival to the last
	p99   time.Duration // of an attempt, 0 when nobody took it
	spent float64       // processor time of the sender's process for a delivery, µs; 0 when it is not its own
	peak  float64       // memory of the sender's process, MiB; 0 the same
	share float64       // of the plain client's rate in the round before it; 0 for that
}

// result waits for the last delivery.
func (c *counter) result() delivered {
	d := delivered{rate: c.rate()}
	if c.sender.Load() != 0 {
		d.spent = time.Duration(c.spent.Load()).Seconds() * 1e6 / float64(c.want-1)
	}
	return d
}

// deliverRounds is how often a figure of [BenchmarkDeliver] is taken.
const deliverRounds = 7

// BenchmarkDeliver is how fast events go from the log to a receiver on this
// machine, 256 at a time, from the first arrival to the last, beside a plain client
// that signs and posts bodies which it has in memory:
//
//	inside   log, courier and endpoint in this process, the log's server beside it
//	program  orderwire run --only webhook, with the server in its process; the plain
//	         client in a process of its own
//
// The receiver is in this process and takes its share of the processors. Rounds of
// both take turns, because other work on the machine comes and goes; of each figure
// the middle one counts. p99-ms is that of an attempt, ×bare the share of the plain
// client's rate in the round beside it, the middle and the least, and sender-cpu-µs
// what a delivery costs the sending process, the log's server included.
func BenchmarkDeliver(b *testing.B) {
	dir, _ := filledLog(b, deliverEvents)
	for _, c := range []struct {
		name       string
		bare, full func(b *testing.B, dir string) delivered
	}{{"inside", bareInside, courierDeliver}, {"program", bareOutside, programDeliver}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var bare, full []delivered
				for n := range deliverRounds {
					bare = append(bare, c.bare(b, dir))
					full = append(full, c.full(b, dir))
					full[n].share = full[n].rate / bare[n].rate
				}
				compareDelivered(b, bare, full)
			}
		})
	}
}

// compareDelivered reports the figures of rounds that took turns.
func compareDelivered(b *testing.B, bare, full []delivered) {
	b.Helper()
	figures := []struct {
		name string
		of   func(delivered) float64
	}{
		{"events/s", func(d delivered) float64 { return d.rate }},
		{"p99-ms", func(d delivered) float64 { return milliseconds(d.p99) }},
		{"sender-cpu-µs", func(d delivered) float64 { return d.spent }},
		{"peak-MiB", func(d delivered) float64 { return d.peak }},
		{"×bare", func(d delivered) float64 { return d.share }},
	}
	for _, f := range figures {
		for prefix, rounds := range map[string][]delivered{"": full, "bare-": bare} {
			if all := figure(rounds, f.of); all[0] != 0 {
				b.ReportMetric(all[len(all)/2], prefix+f.name)
			}
		}
	}
	b.ReportMetric(figure(full, func(d delivered) float64 { return d.share })[0], "least-×bare")
}

// figure returns one of each round, ascending.
func figure(rounds []delivered, of func(delivered) float64) []float64 {
	all := make([]float64, len(rounds))
	for i, d := range rounds {
		all[i] = of(d)
	}
	slices.Sort(all)
	return all
}

// bareVariable makes this test binary a plain client: it holds the address of a log
// and that of a receiver, apart by a space.
const bareVariable = "ORDERWIRE_TEST_BARE"

// bareClient posts all events of a log and prints the 99th percentile of an attempt.
func bareClient(addresses string) {
	log, receiver, _ := strings.Cut(addresses, " ")
	all, err := readAll(context.Background(), log)
	if err == nil {
		var times []time.Duration
		if times, err = postAll(context.Background(), receiver, all); err == nil {
			fmt.Fprintln(os.Stdout, percentile(times, 99))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// readAll reads the events of a benchmark's log.
func readAll(ctx context.Context, url string) (all []schema.Entry, err error) {
	log, err := jetstream.Open(ctx, jetstream.Config{URL: url, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := log.Follow(ctx, 0)
	if err != nil {
		return nil, err
	}
	for len(all) < deliverEvents {
		m := <-in
		m.Ack()
		e, err := pipeline.ReadEntry(m)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// postAll is the limit: what can be sent at all.
func postAll(ctx context.Context, url string, all []schema.Entry) (times []time.Duration, err error) {
	bodies := make([][]byte, len(all))
	for i, e := range all {
		if bodies[i], err = webhook.Body(&e); err != nil {
			return nil, err
		}
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(webhook.NewSecret(), "whsec_"))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: deliverAtOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	times = make([]time.Duration, len(all))
	var next atomic.Int64
	var group errgroup.Group
	for range deliverAtOnce {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return nil
				}
				start := time.Now()
				if err := signedPost(ctx, client, url, key, all[i].Event.ID, bodies[i]); err != nil {
					return err
				}
				times[i] = time.Since(start)
			}
		})
	}
	return times, group.Wait()
}

func bareInside(b *testing.B, dir string) delivered {
	b.Helper()
	url, stop := startServer(b, dir)
	all, err := readAll(b.Context(), url)
	stop()
	if err != nil {
		b.Fatal(err)
	}
	c := newCounter(b, len(all))
	times, err := postAll(b.Context(), c.server.URL, all)
	if err != nil {
		b.Fatal(err)
	}
	d := c.result()
	d.p99 = percentile(times, 99)
	return d
}

func bareOutside(b *testing.B, dir string) delivered {
	b.Helper()
	url, stop := startServer(b, dir)
	defer stop()
	c := newCounter(b, deliverEvents)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bareVariable+"="+url+" "+c.server.URL)
	cmd.Stderr = b.Output()
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c.sender.Store(int64(cmd.Process.Pid))
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	d := c.result()
	var err error
	if d.p99, err = time.ParseDuration(strings.TrimSpace(out.String())); err != nil {
		b.Fatal(err)
	}
	return d
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

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

// Sender implements [pipeline.Sending].
func (t *timed) Sender() pipeline.Sender { return timedSender{t.Endpoint.Sender(), t} }

type timedSender struct {
	*webhook.Sender
	of *timed
}

// Attempt implements [pipeline.Sender].
func (s timedSender) Attempt(ctx context.Context, e *schema.Entry) (int, error) {
	start := time.Now()
	status, err := s.Sender.Attempt(ctx, e)
	took := time.Since(start)
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.all = append(s.of.all, took)
	return status, err
}

func courierDeliver(b *testing.B, dir string) delivered {
	b.Helper()
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
	d := c.result()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	d.p99 = percentile(t.all, 99)
	return d
}

func programDeliver(b *testing.B, dir string) delivered {
	b.Helper()
	c := newCounter(b, deliverEvents)
	p := launch(b, "run", "-c", delivering(b, dir, benchEndpoint(c.server.URL)), "--only", "webhook")
	defer p.kill()
	c.sender.Store(int64(p.cmd.Process.Pid))
	d := c.result()
	d.peak = peakMiB(p.cmd.Process.Pid)
	return d
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
				b.ReportMetric(residentMiB(p.cmd.Process.Pid), "resident-MiB")
				b.ReportMetric(peakMiB(p.cmd.Process.Pid), "peak-MiB")
				p.kill()
				server.Close()
			}
		})
	}
}
