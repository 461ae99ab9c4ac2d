package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

func loadParked(tb testing.TB, l *jetstream.Log, endpoint string) map[string]pipeline.Parked {
	tb.Helper()
	all := make(map[string]pipeline.Parked)
	if err := l.LoadParked(tb.Context(), endpoint, func(p pipeline.Parked) { all[fmt.Sprint(p.Key, p.Single)] = p }); err != nil {
		tb.Fatal(err)
	}
	return all
}

func saveParked(tb testing.TB, l *jetstream.Log, endpoint string, put, gone []pipeline.Parked) {
	tb.Helper()
	if err := l.SaveParked(tb.Context(), endpoint, put, gone); err != nil {
		tb.Fatal(err)
	}
}

func TestParkedOrdersAreKept(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	var all []pipeline.Parked
	for n := range 2500 {
		all = append(all, pipeline.Parked{Key: key(n), First: uint64(n + 1), Version: 2, Attempts: 3, Next: at.Add(time.Hour), Since: at, Stored: at, Class: "503"})
	}
	all[7].Single, all[8].Held = 8, true
	other := pipeline.Parked{Key: schema.OrderKey{Account: "a.b", OrderSn: "*"}, First: 9}
	saveParked(t, l, "partner", all, nil)
	saveParked(t, l, "partner 2", []pipeline.Parked{other}, nil)
	all[0].First = 77
	saveParked(t, l, "partner", all[:1], all[1500:])

	again := pipelinetest.Log(t, url)
	got := loadParked(t, again, "partner")
	for _, want := range all[:1500] {
		if have := got[fmt.Sprint(want.Key, want.Single)]; have != want {
			t.Fatalf("got  %+v\nwant %+v", have, want)
		}
	}
	if len(got) != 1500 {
		t.Errorf("%d orders", len(got))
	}
	if got := loadParked(t, again, "partner 2"); len(got) != 1 || got[fmt.Sprint(other.Key, 0)] != other {
		t.Errorf("the other endpoint has %+v", got)
	}
	if got := loadParked(t, again, "nobody"); len(got) != 0 {
		t.Errorf("nobody has %+v", got)
	}
}

// What marks a removed order does not stay.
func TestRemovedParkedOrdersLeaveNothing(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	p := pipeline.Parked{Key: key(1), First: 1}
	saveParked(t, l, "partner", []pipeline.Parked{p}, nil)
	saveParked(t, l, "partner", nil, []pipeline.Parked{p})
	s, err := admin(t, url).Stream(t.Context(), "KV_"+jetstream.ParkedBucket)
	if err != nil {
		t.Fatal(err)
	}
	mark, err := s.GetLastMsgForSubject(t.Context(), "$KV."+jetstream.ParkedBucket+".partner."+key(1).String())
	if err != nil || mark.Header.Get("Nats-TTL") != "1h" || !s.CachedInfo().Config.AllowMsgTTL {
		t.Errorf("%v, %+v", err, mark)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	mustPublish(t, l, created(t, 0, 5)...)                            // 1 to 5
	mustPublish(t, l, newMessage(t, 2, 2, 3), newMessage(t, 3, 2, 4)) // 6, 7
	mustPublish(t, l, newMessage(t, 2, 3, 6))                         // 8
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Request(key(2).Subject(schema.OrderUpdated), []byte("{}"), 10*time.Second); err != nil { // 9
		t.Fatal(err)
	}
	for from, want := range map[uint64]uint64{0: 3, 1: 3, 3: 3, 4: 6, 6: 6, 7: 8, 9: 9, 10: 0} {
		e, found, err := l.Next(t.Context(), key(2), from)
		if poison := want == 9; errors.Is(err, pipeline.ErrPoison) != poison || err != nil && !poison {
			t.Errorf("from %d: %v", from, err)
		}
		if found != (want != 0) || e.Sequence != want {
			t.Errorf("from %d: %v, %+v", from, found, e)
		}
		if found && (e.Stored.IsZero() || len(e.Raw) == 0 || !strings.HasPrefix(e.Subject, "orders.main.1042.SN-000002.")) {
			t.Errorf("from %d: %+v", from, e)
		}
	}
	if _, found, err := l.Next(t.Context(), key(99), 1); found || err != nil {
		t.Errorf("an order that is not there: %v, %v", found, err)
	}
}

// shaky fails at random, and notes what came.
type shaky struct {
	mu     sync.Mutex
	random *rand.Rand
	got    []schema.Entry
	worse  float64
}

func (s *shaky) Deliver(_ context.Context, e *schema.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random.Float64() < s.worse {
		return errors.New("503")
	}
	s.got = append(s.got, *e)
	return nil
}

// check returns how many came, each event once.
func (s *shaky) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[uint64]bool)
	for _, e := range s.got {
		seen[e.Sequence] = true
	}
	return len(seen)
}

// A courier that is cut off again and again, with an endpoint that fails at
// random: all comes, in order for each order.
func TestCourierOverCrashes(t *testing.T) {
	t.Parallel()
	const orders, each = 150, 6
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	r := &shaky{random: rand.New(rand.NewPCG(1, 2)), worse: 0.4}
	cfg := pipeline.CourierConfig{
		Name: "partner", Deliverer: r, Follow: l.Follow, Bury: l.Bury, Cursors: l, Parked: l, Recall: l.Next, Window: 64,
		BreakAfter: -1, Retention: pipeline.Retention{First: l.First, Hint: func(_, _ uint64) string { return "" }},
	}
	for range 500 {
		cfg.Schedule = append(cfg.Schedule, 5*time.Millisecond)
	}
	crashed, restarts := errors.New("crash"), 0
	run := func(until func(c *pipeline.Courier) bool) {
		c := pipeline.NewCourier(cfg)
		ctx, crash := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		for !until(c) {
			<-time.After(time.Millisecond)
		}
		crash(crashed)
		if err := <-done; err != nil {
			t.Error(err)
		}
		restarts++
	}
	for v := uint64(1); v <= each; v++ {
		for n := range orders {
			expected := uint64(0)
			if v > 1 {
				expected = (v-2)*orders + uint64(n) + 1
			}
			mustPublish(t, l, newMessage(t, n, v, expected))
			if n%50 == 20 {
				deadline := time.Now().Add(time.Duration(50+rand.IntN(350)) * time.Millisecond)
				run(func(*pipeline.Courier) bool { return time.Now().After(deadline) })
			}
		}
	}
	deadline := time.Now().Add(time.Minute)
	run(func(c *pipeline.Courier) bool {
		p := c.Progress()
		return p.Position == orders*each && p.Delivery.Parked == 0 || time.Now().After(deadline)
	})
	if left := loadParked(t, l, "partner"); len(left) != 0 || r.count() != orders*each {
		t.Errorf("%d of %d events came, %d orders are parked", r.count(), orders*each, len(left))
	}
	next := make(map[schema.OrderKey]uint64)
	doubles := 0
	for _, e := range r.got {
		k, v := e.Event.Key(), e.Event.Data.Version
		switch {
		case v == next[k]+1:
			next[k] = v
		case v <= next[k]:
			doubles++
		default:
			t.Errorf("%s: version %d comes behind %d", k, v, next[k])
		}
	}
	t.Logf("%d arrivals, %d of them doubles, over %d crashes", len(r.got), doubles, restarts)
}
