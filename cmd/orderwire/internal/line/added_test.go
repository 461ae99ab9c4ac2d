package line_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// journal is what a line logs, for tests to wait for.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
	copy io.Writer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.more)
	j.more = make(chan struct{})
	j.text.Write(b)
	return j.copy.Write(b)
}

// await waits until n lines hold all of some texts.
func (j *journal) await(tb testing.TB, n int, texts ...string) {
	tb.Helper()
	limit := time.After(20 * time.Second)
	for {
		j.mu.Lock()
		all, more := j.text.String(), j.more
		j.mu.Unlock()
		found := 0
		for one := range strings.Lines(all) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(one, text) }) {
				found++
			}
		}
		if found >= n {
			return
		}
		select {
		case <-more:
		case <-limit:
			tb.Fatalf("%d lines of %d with %q", found, n, texts)
		}
	}
}

// sent is a delivery as it came.
type sent struct {
	header http.Header
	body   []byte
	name   string // order and version
}

// receiver takes deliveries.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	all  []sent
	more chan struct{}
}

func newReceiver(tb testing.TB) *receiver {
	tb.Helper()
	r := &receiver{more: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var m webhook.Message
		if err != nil || json.Unmarshal(body, &m) != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, sent{req.Header, body, fmt.Sprintf("%s/%d", m.Data.Order.OrderSn, m.Data.Version)})
		close(r.more)
		r.more = make(chan struct{})
	}))
	tb.Cleanup(r.Close)
	return r
}

// await waits for n deliveries and returns them.
func (r *receiver) await(tb testing.TB, n int) []sent {
	tb.Helper()
	limit := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		all, more := slices.Clone(r.all), r.more
		r.mu.Unlock()
		if len(all) >= n {
			return all
		}
		select {
		case <-more:
		case <-limit:
			tb.Fatalf("%d deliveries of %d", len(all), n)
		}
	}
}

// signedWith reports whether a delivery is signed with a secret.
func (s *sent) signedWith(tb testing.TB, secret string) bool {
	tb.Helper()
	v, err := webhook.NewVerifier(secret)
	if err != nil {
		tb.Fatal(err)
	}
	return v.Verify(s.header, s.body, time.Now()) == nil
}

const orders = 10

// stage is a line at work.
type stage struct {
	*line.Line
	m       *endpoints.Manager
	log     *jetstream.Log
	journal *journal
	config  *config.Config
}

// onStage runs a line that only delivers webhooks, on an embedded log or on a
// server.
func onStage(t *testing.T, onServer bool) *stage {
	t.Helper()
	if !onServer {
		return onStageWith(t, "", "")
	}
	return onStageWith(t, pipelinetest.Server(t, t.TempDir()).URL(), "")
}

// onStageWith is onStage for a server, "" for the embedded log, and more of a
// configuration.
func onStageWith(t *testing.T, url, more string) *stage {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("data_dir: %q\n", dir) + more
	if url != "" {
		text += fmt.Sprintf("nats: {url: %q}\n", url)
	}
	c, err := config.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{journal: &journal{more: make(chan struct{}), copy: t.Output()}, config: c}
	if s.Line, err = line.Open(t.Context(), c, []line.Role{line.Webhook}, slog.New(slog.NewTextHandler(s.journal, nil))); err != nil {
		t.Fatal(err)
	}
	if url == "" {
		if url, err = jetstream.RunningURL(dir); err != nil {
			t.Fatal(err)
		}
	}
	s.log = pipelinetest.Log(t, url)
	s.m = endpoints.New(c, s.log, nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// publish adds the next version of every order.
func (s *stage) publish(tb testing.TB, version int) {
	tb.Helper()
	var msgs []*message.Message
	for n := range orders {
		e := pipelinetest.Event("main", n, uint64(version))
		var expected uint64
		if version > 1 {
			expected = uint64((version-2)*orders + n + 1)
		}
		m, err := pipeline.NewMessage(&e, expected, 0)
		if err != nil {
			tb.Fatal(err)
		}
		msgs = append(msgs, m)
	}
	if err := s.log.Publisher().Publish(pipeline.Topic, msgs...); err != nil {
		tb.Fatal(err)
	}
}

func (s *stage) add(tb testing.TB, name string, r *receiver, start endpoints.Start) string {
	tb.Helper()
	secret, err := s.m.Add(tb.Context(), endpoints.Definition{Name: name, URL: r.URL, AllowPrivate: true}, start)
	if err != nil {
		tb.Fatal(err)
	}
	return secret.Secret
}

// sink returns how a part stands, false when there is none.
func (s *stage) sink(tb testing.TB, name string) (line.Sink, bool) {
	tb.Helper()
	status, err := s.Status(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	at := slices.IndexFunc(status.Sinks, func(one line.Sink) bool { return one.Name == name })
	if at < 0 {
		return line.Sink{}, false
	}
	return status.Sinks[at], true
}

func inOrder(tb testing.TB, all []sent, versions int) {
	tb.Helper()
	last := make(map[string]int)
	for _, one := range all {
		order, text, _ := strings.Cut(one.name, "/")
		if last[order]++; fmt.Sprint(last[order]) != text {
			tb.Errorf("%s comes as number %d", one.name, last[order])
		}
	}
	if len(last) != orders || len(all) != orders*versions {
		tb.Errorf("%d deliveries of %d orders", len(all), len(last))
	}
}

// An endpoint that is added while the line runs gets its events at once; paused,
// nothing; resumed, everything in order; with its secret changed, both signatures
// and then only the new one; removed, nothing more. Another goes on all the while.
func TestEndpointsComeAndGo(t *testing.T) {
	t.Parallel()
	for name, onServer := range map[string]bool{"embedded": false, "leases": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, onServer)
			ctx := t.Context()
			s.publish(t, 1)
			a, b := newReceiver(t), newReceiver(t)
			first := s.add(t, "a", a, endpoints.Start{First: true})
			s.add(t, "b", b, endpoints.Start{})
			inOrder(t, a.await(t, orders), 1)
			if sink, ok := s.sink(t, "a"); !ok || sink.Standby || sink.Closed {
				t.Errorf("%+v", sink)
			}

			if err := s.m.Pause(ctx, "a", "moves house"); err != nil {
				t.Fatal(err)
			}
			s.journal.await(t, 1, "endpoint is paused", "endpoint=a")
			s.publish(t, 2)
			b.await(t, orders)
			if got := a.await(t, 0); len(got) != orders {
				t.Errorf("%d came while it was paused", len(got)-orders)
			}
			if err := s.m.Resume(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			inOrder(t, a.await(t, 2*orders), 2)

			second, err := s.m.Rotate(ctx, "a", endpoints.RotateOptions{Keep: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			s.journal.await(t, 1, "is taken in", "endpoint=a", "secrets=2")
			s.publish(t, 3)
			for _, one := range a.await(t, 3*orders)[2*orders:] {
				if !one.signedWith(t, first) || !one.signedWith(t, second.Secret) {
					t.Errorf("%s has not both signatures", one.name)
				}
			}
			if _, err := s.m.Rotate(ctx, "a", endpoints.RotateOptions{Finish: true}); err != nil {
				t.Fatal(err)
			}
			s.journal.await(t, 2, "is taken in", "endpoint=a", "secrets=1")
			s.publish(t, 4)
			for _, one := range a.await(t, 4*orders)[3*orders:] {
				if one.signedWith(t, first) || !one.signedWith(t, second.Secret) {
					t.Errorf("%s is not signed with the new secret alone", one.name)
				}
			}
			inOrder(t, a.await(t, 0), 4)

			if err := s.m.Remove(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			b.await(t, 3*orders)
			if delivered, failed := s.Delivered(); delivered < 4*orders+2*orders || delivered > 7*orders || failed != 0 { // the last ones may not be counted yet
				t.Errorf("%d delivered, %d failed", delivered, failed)
			}
			if sink, ok := s.sink(t, "a"); ok {
				t.Errorf("it is left: %+v", sink)
			}
			s.publish(t, 5)
			b.await(t, 4*orders)
			if got := a.await(t, 0); len(got) != 4*orders {
				t.Errorf("%d came after it was removed", len(got)-4*orders)
			}
			s.add(t, "a", a, endpoints.Start{Sequence: 4*orders + 1})
			a.await(t, 5*orders)
		})
	}
}

// A secret that expires no longer signs, without anybody's doing.
func TestOldSecretEndsByItself(t *testing.T) {
	t.Parallel()
	s := onStage(t, false)
	r := newReceiver(t)
	first := s.add(t, "a", r, endpoints.Start{})
	s.journal.await(t, 1, "is taken in", "secrets=1")
	second, err := s.m.Rotate(t.Context(), "a", endpoints.RotateOptions{Keep: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.journal.await(t, 2, "is taken in", "secrets=1") // once more, at the end
	s.publish(t, 1)
	for _, one := range r.await(t, orders) {
		if one.signedWith(t, first) || !one.signedWith(t, second.Secret) {
			t.Errorf("%s is signed with the old secret", one.name)
		}
	}
}

// What cannot be used is told, and stops nothing else.
func TestBadDefinitionStopsNothingElse(t *testing.T) {
	t.Parallel()
	s := onStage(t, false)
	r := newReceiver(t)
	for name, value := range map[string]string{"bad": `{"url":"https://example.com","secret":"hidden-text"}`, "unreadable": `{"url":["hidden-text"]}`} {
		if _, err := s.log.CreateEndpoint(t.Context(), name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	s.add(t, "good", r, endpoints.Start{})
	s.publish(t, 1)
	r.await(t, orders)
	for _, name := range []string{"bad", "unreadable"} {
		s.journal.await(t, 1, "cannot be used", "endpoint="+name)
		if sink, ok := s.sink(t, name); !ok || sink.Failure == "" || strings.Contains(sink.Failure, "hidden") {
			t.Errorf("%s: %+v", name, sink)
		}
	}
	if strings.Contains(s.journal.text.String(), "hidden") {
		t.Error("a secret is logged")
	}
	if all, err := s.m.List(t.Context()); err != nil || len(all) != 3 || all[0].State != "invalid" || all[0].Problem == "" {
		t.Errorf("%v: %+v", err, all)
	}
	if err := s.m.Remove(t.Context(), "unreadable"); err != nil {
		t.Error(err)
	}
	s.journal.await(t, 1, "was removed", "endpoint=unreadable")
}

// A process that has not been told yet that an endpoint was removed does not begin
// with the oldest event when it takes the work over.
func TestRemovedEndpointIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for name, onServer := range map[string]bool{"embedded": false, "leases": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, onServer)
			r := newReceiver(t)
			s.publish(t, 1)
			value, err := json.Marshal(endpoints.Definition{Name: "gone", URL: r.URL, AllowPrivate: true, Secret: webhook.NewSecret()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.log.CreateEndpoint(t.Context(), "gone", value); err != nil {
				t.Fatal(err)
			}
			s.journal.await(t, 2, "cannot begin", "endpoint=gone", "its cursor is gone")
			if got := r.await(t, 0); len(got) > 0 {
				t.Errorf("%d deliveries", len(got))
			}
			if sink, ok := s.sink(t, "gone"); !ok || !strings.Contains(sink.Failure, "cursor is gone") {
				t.Errorf("%+v", sink)
			}
			if err := pipeline.Begin(t.Context(), s.log, "gone", 0); err != nil {
				t.Fatal(err)
			}
			r.await(t, orders)
		})
	}
}

// An order that is held is released from another process.
func TestReleasedFromElsewhere(t *testing.T) {
	t.Parallel()
	s := onStage(t, false)
	var mended atomic.Bool
	came := make(chan struct{}, orders)
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		came <- struct{}{}
	}))
	defer refuse.Close()
	d := endpoints.Definition{Name: "a", URL: refuse.URL, AllowPrivate: true, OnExhausted: config.ExhaustedPark, Retry: []config.Duration{1}}
	if _, err := s.m.Add(t.Context(), d, endpoints.Start{}); err != nil {
		t.Fatal(err)
	}
	s.journal.await(t, 1, "is taken in")
	s.publish(t, 1)
	s.journal.await(t, orders, "delivery failed", "final=true")
	mended.Store(true)
	key := schema.OrderKey{Account: "main", Program: "1042", OrderSn: "SN-000003"}
	err := s.m.Release(t.Context(), "a", key, false)
	for errors.Is(err, pipeline.ErrNotParked) { // it is being stored
		err = s.m.Release(t.Context(), "a", key, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-came:
	case <-time.After(10 * time.Second):
		t.Error("it was not tried again")
	}
}

// A single pass takes the added endpoints in.
func TestOnceDeliversToAddedEndpoints(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	c, err := config.Parse("f.yaml", fmt.Appendf(nil, "data_dir: %q\nnats: {url: %q}\n", t.TempDir(), url))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{log: pipelinetest.Log(t, url)}
	s.m = endpoints.New(c, s.log, nil)
	r := newReceiver(t)
	s.publish(t, 1)
	s.add(t, "a", r, endpoints.Start{First: true})
	s.add(t, "paused", r, endpoints.Start{First: true})
	if err := s.m.Pause(t.Context(), "paused", ""); err != nil {
		t.Fatal(err)
	}
	if s.Line, err = line.Open(t.Context(), c, []line.Role{line.Webhook}, slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Once(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	inOrder(t, r.await(t, orders), 1)
	standing, err := line.ReadStanding(t.Context(), c, nil)
	if err != nil || !slices.ContainsFunc(standing.Work, func(w line.WorkStanding) bool { return w.Kind == "endpoint" && w.Name == "paused" }) {
		t.Errorf("%v: %+v", err, standing)
	}
}

// Endpoints that have caught up share one reading of the log.
func TestEndpointsReadTheLogTogether(t *testing.T) {
	t.Parallel()
	s := onStage(t, true)
	nc, err := nats.Connect(string(s.config.NATS.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ended, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.DELETED." + jetstream.StreamName + ".*")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	consumers := func() int {
		t.Helper()
		js, err := natsjs.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.Stream(t.Context(), jetstream.StreamName)
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().State.Consumers
	}
	before := consumers() // of the bucket of the orders' states
	s.publish(t, 1)
	receivers := []*receiver{newReceiver(t), newReceiver(t), newReceiver(t)}
	for n, r := range receivers {
		s.add(t, fmt.Sprint("partner-", n), r, endpoints.Start{First: true})
	}
	for range receivers { // each reads by itself first
		if _, err := ended.NextMsg(20 * time.Second); err != nil {
			t.Fatalf("a reading that goes on: %v", err)
		}
	}
	s.publish(t, 2)
	for _, r := range receivers {
		inOrder(t, r.await(t, 2*orders), 2)
	}
	if n := consumers() - before; n != 1 {
		t.Errorf("%d readings", n)
	}
}

// A process that has a key encrypts the endpoints that were added without, and goes on
// delivering to them.
func TestStartEncryptsEndpoints(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	before := onStageWith(t, url, "")
	r := newReceiver(t)
	secret := before.add(t, "partner", r, endpoints.Start{})
	s := onStageWith(t, url, "encryption: {key: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}\n")
	s.journal.await(t, 1, "encrypted with the present key", "endpoints=1")
	if d, _, err := s.log.LoadEndpoint(t.Context(), "partner"); err != nil || bytes.Contains(d.Value, []byte(secret)) {
		t.Errorf("%v: %s", err, d.Value)
	}
	s.publish(t, 1)
	all := r.await(t, orders)
	if !all[0].signedWith(t, secret) {
		t.Error("signed with another secret")
	}
}
