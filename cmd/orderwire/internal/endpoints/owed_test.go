package endpoints_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// stock is a log and what was put into it, by sequence from 1.
type stock struct {
	*jetstream.Log
	events []schema.Event
}

// fill makes a log of so many orders with so many versions each.
func fill(tb testing.TB, orders, versions int) *stock {
	tb.Helper()
	s := &stock{Log: pipelinetest.Log(tb, pipelinetest.Server(tb, tb.TempDir()).URL())}
	for v := range versions {
		var batch []*message.Message
		for n := range orders {
			expected := 0
			if v > 0 {
				expected = (v-1)*orders + n + 1
			}
			e := pipelinetest.Event([]string{"main", "other"}[n%2], n, uint64(v+1))
			m, err := pipeline.NewMessage(&e, uint64(expected), 1)
			if err != nil {
				tb.Fatal(err)
			}
			batch = append(batch, m)
			s.events = append(s.events, e)
		}
		for part := range slices.Chunk(batch, jetstream.MaxBatch) {
			if err := s.Publisher().Publish(pipeline.Topic, part...); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return s
}

// endpoint is how an endpoint stands.
type endpoint struct {
	config.Webhook
	cursor pipeline.Cursor
	parked []pipeline.Parked
}

var (
	serial atomic.Int64
	secret = config.Secret(webhook.NewSecret())
)

// draw makes up an endpoint and stores how it stands.
func (s *stock) draw(tb testing.TB, t *rapid.T) *endpoint {
	n := uint64(len(s.events))
	e := &endpoint{Webhook: config.Webhook{
		Name: fmt.Sprintf("e.%d", serial.Add(1)), URL: "https://example.com", Secret: secret,
		Unordered: rapid.Bool().Draw(t, "unordered"),
		Events:    rapid.SampledFrom([][]string{nil, {"order.created"}, {"status.changed"}}).Draw(t, "events"),
		Accounts:  rapid.SampledFrom([][]string{nil, {"main"}}).Draw(t, "accounts"),
	}}
	e.cursor.Floor = rapid.Uint64Range(0, n).Draw(t, "floor")
	for seq := e.cursor.Floor + 2; seq <= n; seq++ { // the one behind the floor is never done
		if rapid.IntRange(0, 2).Draw(t, "done") == 0 {
			e.cursor.Done = append(e.cursor.Done, seq)
		}
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "parked") {
		seq := rapid.Uint64Range(1, n).Draw(t, "first")
		p := pipeline.Parked{Key: s.events[seq-1].Key(), First: seq, Version: s.events[seq-1].Data.Version, Class: "503"}
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 != e.Unordered { // now and then from before unordered was changed
			p.Single = seq
		}
		if !slices.ContainsFunc(e.parked, func(q pipeline.Parked) bool { return q.Key == p.Key && q.Single == p.Single }) {
			p.Held = i == 7
			e.parked = append(e.parked, p)
		}
	}
	if err := s.SaveCursor(tb.Context(), "endpoint."+schema.EscapeToken(e.Name), e.cursor); err != nil {
		tb.Fatal(err)
	}
	if err := s.SaveParked(tb.Context(), e.Name, e.parked, nil); err != nil {
		tb.Fatal(err)
	}
	return e
}

// owed are the sequences that the endpoint is owed, one event after another.
func (e *endpoint) owed(events []schema.Event) (all []uint64) {
	for i := range events {
		ev, seq := &events[i], uint64(i+1)
		if len(e.Events) > 0 && e.Events[0] != string(ev.Type) || len(e.Accounts) > 0 && e.Accounts[0] != ev.Data.Account {
			continue
		}
		is := seq > e.cursor.Floor && !slices.Contains(e.cursor.Done, seq)
		for _, p := range e.parked {
			if p.Key == ev.Key() && p.Single == 0 && (!e.Unordered || seq >= p.First) {
				is = seq >= p.First
			}
		}
		for _, p := range e.parked {
			is = is || p.Single == seq
		}
		if is {
			all = append(all, seq)
		}
	}
	return all
}

func read(tb testing.TB, s endpoints.OwedLog, o endpoints.OwedOptions, all ...*endpoint) []endpoints.Owed {
	tb.Helper()
	var webhooks []config.Webhook
	for _, e := range all {
		webhooks = append(webhooks, e.Webhook)
	}
	owed, err := endpoints.ReadOwed(tb.Context(), s, webhooks, o)
	if err != nil {
		tb.Fatal(err)
	}
	return owed
}

// The report agrees with a count of each event by itself, whatever the cursors, the
// parked orders and the filters are, for several endpoints in one pass.
func TestOwedIsExact(t *testing.T) {
	t.Parallel()
	s := fill(t, 12, 5)
	some := false
	rapid.Check(t, func(rt *rapid.T) {
		var all []*endpoint
		for range rapid.IntRange(1, 3).Draw(rt, "endpoints") {
			all = append(all, s.draw(t, rt))
		}
		for i, got := range read(t, s, endpoints.OwedOptions{}, all...) {
			e := all[i]
			want := e.owed(s.events)
			if got.Endpoint != e.Name || got.Events != uint64(len(want)) || got.ParkedOrders != len(e.parked) || got.Floor != e.cursor.Floor || got.Last != 60 {
				rt.Fatalf("got %+v\nwant %d events: %v\n%+v", got, len(want), want, e)
			}
			if (got.Oldest == nil) != (len(want) == 0) || got.Oldest != nil && got.Oldest.Sequence != want[0] {
				rt.Fatalf("oldest %+v, want %v", got.Oldest, want)
			}
			some = some || got.ParkedEvents > 0 && got.ParkedEvents < got.Events
			if got.Gap != nil || got.ParkedAgedOut != 0 || got.State != "active" {
				rt.Fatalf("%+v", got)
			}
		}
	})
	if !some {
		t.Error("no endpoint had events both of parked orders and of others")
	}
}

// taking notes what an endpoint is given.
type taking struct {
	wants func(*schema.Event) bool
	mu    sync.Mutex
	got   map[uint64]bool
}

// Deliver implements [pipeline.Deliverer].
func (d *taking) Deliver(_ context.Context, e *schema.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wants(&e.Event) {
		d.got[e.Sequence] = true
	}
	return nil
}

// What is reported as owed is what the courier delivers then.
func TestCourierDeliversWhatIsOwed(t *testing.T) {
	t.Parallel()
	s := fill(t, 10, 4)
	rapid.Check(t, func(rt *rapid.T) {
		e := s.draw(t, rt)
		owed := read(t, s, endpoints.OwedOptions{}, e)[0]
		if owed.HeldOrders > 0 {
			return
		}
		receiver, err := webhook.New(e.Endpoint(nil))
		if err != nil {
			rt.Fatal(err)
		}
		d := &taking{wants: receiver.Wants, got: make(map[uint64]bool)}
		c := pipeline.NewCourier(pipeline.CourierConfig{
			Name: e.Name, Deliverer: d, Follow: s.Follow, Bury: s.Bury, Cursors: s, Parked: s, Recall: s.Next, Unordered: e.Unordered,
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		if err := c.Drain(ctx, uint64(len(s.events))); err != nil {
			rt.Fatal(err)
		}
		if err := <-done; err != nil {
			rt.Fatal(err)
		}
		if uint64(len(d.got)) != owed.Events || owed.Oldest != nil && !d.got[owed.Oldest.Sequence] {
			rt.Fatalf("delivered %d: %v\nowed %+v\n%+v", len(d.got), d.got, owed, e)
		}
		if left := read(t, s, endpoints.OwedOptions{}, e)[0]; left.Events != 0 || left.Oldest != nil || left.ParkedOrders != 0 {
			rt.Fatalf("left %+v", left)
		}
	})
}

// aged is a log that has lost its first events.
type aged struct {
	*stock
	first uint64
}

// Bounds implements [endpoints.OwedLog].
func (a *aged) Bounds(ctx context.Context) (first, last uint64, err error) {
	_, last, err = a.stock.Bounds(ctx)
	return a.first, last, err
}

// Follow implements [endpoints.OwedLog].
func (a *aged) Follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	return a.stock.Follow(ctx, max(after, a.first-1))
}

func TestOwedAfterAging(t *testing.T) {
	t.Parallel()
	log := &aged{fill(t, 10, 4), 21}
	store := func(name string, c pipeline.Cursor, parked ...pipeline.Parked) *endpoint {
		if err := log.SaveCursor(t.Context(), "endpoint."+name, c); err != nil {
			t.Fatal(err)
		}
		if err := log.SaveParked(t.Context(), name, parked, nil); err != nil {
			t.Fatal(err)
		}
		return &endpoint{Webhook: config.Webhook{Name: name, URL: "https://example.com", Secret: secret}}
	}
	key := func(seq int) schema.OrderKey { return log.events[seq-1].Key() }
	for _, tt := range []struct {
		name   string
		e      *endpoint
		skip   uint64
		gap    endpoints.Gap
		events uint64
		aged   int
	}{
		{name: "never begun", e: store("a", pipeline.Cursor{}), events: 20},
		{name: "gap", e: store("b", pipeline.Cursor{Floor: 5, Done: []uint64{7, 9, 20, 25}}), gap: endpoints.Gap{From: 6, Until: 19, Events: 12}, events: 19},
		{name: "skipped in part", e: store("c", pipeline.Cursor{Floor: 5, Done: []uint64{7, 13}}), skip: 12, gap: endpoints.Gap{From: 14, Until: 20, Events: 7}, events: 20},
		{name: "skipped", e: store("d", pipeline.Cursor{Floor: 5}), skip: 20, events: 20},
		{name: "all settled", e: store("f", pipeline.Cursor{Floor: 18, Done: []uint64{19, 20}}), events: 20},
		{
			name: "parked", aged: 2,
			e: store("g", pipeline.Cursor{Floor: 40},
				pipeline.Parked{Key: key(1), First: 1, Version: 1},    // 21 and 31 are there, 1 and 11 are not
				pipeline.Parked{Key: key(12), First: 13, Version: 3},  // 22 and 32, which is all
				pipeline.Parked{Key: key(3), First: 23, Version: 3},   // 23 and 33
				pipeline.Parked{Key: key(4), Single: 4, First: 4},     // gone
				pipeline.Parked{Key: key(25), Single: 25, First: 25}), // there
			events: 7,
		},
	} {
		owed := read(t, log, endpoints.OwedOptions{Skip: tt.skip}, tt.e)[0]
		gap := endpoints.Gap{}
		if owed.Gap != nil {
			gap = *owed.Gap
		}
		if gap != tt.gap || owed.Events != tt.events || owed.ParkedAgedOut != tt.aged {
			t.Errorf("%s: gap %+v, %+v", tt.name, gap, owed)
		}
	}
}

func TestOwedTellsTheRest(t *testing.T) {
	t.Parallel()
	s := fill(t, 1500, 2)
	e := &endpoint{Webhook: config.Webhook{Name: "partner", URL: "https://example.com", Secret: secret, Where: `account == "main"`}}
	if err := s.SaveCursor(t.Context(), "endpoint.partner", pipeline.Cursor{Floor: 100}); err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(3) {
		if err := s.Bury(t.Context(), pipeline.DeadLetter{Sink: "partner", Sequence: seq}); err != nil {
			t.Fatal(err)
		}
	}
	var steps []int64
	now := time.Now().Add(time.Hour)
	owed := read(t, s, endpoints.OwedOptions{Now: now, Step: func(done, total int64) {
		if total != 2900 {
			t.Errorf("%d in all", total)
		}
		steps = append(steps, done)
	}}, e)[0]
	if owed.Events != 1450 || owed.DeadLetters != 3 || owed.Oldest.Sequence != 101 {
		t.Errorf("%+v", owed)
	}
	if age := owed.Oldest.Age; age < 3599 || age > 3700 || now.Sub(owed.Oldest.Stored).Seconds() != age {
		t.Errorf("age %f, %+v", age, owed.Oldest)
	}
	if len(steps) != 3 || steps[2] != 2900 || !slices.IsSorted(steps) {
		t.Errorf("steps %v", steps)
	}
	wrong := &endpoint{Webhook: config.Webhook{Name: "wrong", URL: "https://example.com"}}
	if _, err := endpoints.ReadOwed(t.Context(), s, []config.Webhook{wrong.Webhook}, endpoints.OwedOptions{}); err == nil || !strings.Contains(err.Error(), `"wrong"`) {
		t.Errorf("an endpoint without a secret: %v", err)
	}
}
