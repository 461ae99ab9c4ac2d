package poller_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// network is an affiliate network in memory, with the habits that tests want.
type network struct {
	mu      sync.Mutex
	orders  map[string]*held
	bare    bool                              // list records lack lines
	noTotal bool                              // no total beside the list
	deaf    bool                              // the page parameter is ignored
	cap     int                               // largest page given, 0 for any
	before  func(q openapi.OrdersQuery)       // runs before a page is read
	refuse  func(q openapi.OrdersQuery) error // refuses a page
	time    func() time.Time                  // clock of the answers; nil means time.Now
	lists   int
	details int
}

func (n *network) clock() time.Time {
	if n.time == nil {
		return time.Now().UTC()
	}
	return n.time()
}

type held struct {
	sn      string
	status  string
	price   string // "" means 10.00
	updated time.Time
}

func newNetwork(n int, updated func(i int) time.Time) *network {
	net := &network{orders: make(map[string]*held)}
	for i := range n {
		sn := fmt.Sprintf("SN-%06d", i)
		net.orders[sn] = &held{sn: sn, status: "0", updated: updated(i)}
	}
	return net
}

func (n *network) move(sn, status string, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.orders[sn].status, n.orders[sn].updated = status, at
}

func (h *held) record(bare bool) jsontext.Value {
	details := fmt.Sprintf(`,"Details":[{"ItemId":"1","LbOrderStatus":"2","Mark":%q}]`, h.status)
	if bare {
		details = ""
	}
	return jsontext.Value(fmt.Sprintf(`{"ProgramId":"1042","OrderSn":%q,"Status":%q,"OrdersPrice":%q%s}`, h.sn, h.status, cmp.Or(h.price, "10.00"), details))
}

func (n *network) Orders(_ context.Context, q openapi.OrdersQuery) (openapi.OrdersPage, error) {
	if n.before != nil {
		n.before(q)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lists++
	if n.refuse != nil {
		if err := n.refuse(q); err != nil {
			return openapi.OrdersPage{}, err
		}
	}
	var in []*held
	for _, h := range n.orders {
		if !h.updated.Before(q.From) && !h.updated.After(q.To) {
			in = append(in, h)
		}
	}
	slices.SortFunc(in, func(a, b *held) int {
		if c := a.updated.Compare(b.updated); c != 0 {
			return c
		}
		return strings.Compare(a.sn, b.sn)
	})
	return n.page(in, q), nil
}

func (n *network) page(in []*held, q openapi.OrdersQuery) openapi.OrdersPage {
	p := openapi.OrdersPage{Total: len(in), AnsweredAt: n.clock()}
	size, page := q.PageSize, q.Page
	if n.cap > 0 {
		size = min(size, n.cap)
	}
	if n.noTotal {
		p.Total = -1
	}
	if n.deaf {
		page = 1
	}
	from := min((page-1)*size, len(in))
	var all strings.Builder
	for _, h := range in[from:min(from+size, len(in))] {
		p.Records = append(p.Records, h.record(n.bare))
		all.Write(p.Records[len(p.Records)-1])
	}
	p.Digest = xxh3.HashString(all.String())
	return p
}

func (n *network) Order(_ context.Context, _, sn string) (openapi.OrderAnswer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.details++
	h, ok := n.orders[sn]
	if !ok {
		return openapi.OrderAnswer{}, openapi.ErrNotFound
	}
	return openapi.OrderAnswer{Raw: h.record(false), AnsweredAt: n.clock()}, nil
}

// clock is a wall clock that a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

type setup struct {
	*poller.Poller
	log   *jetstream.Log
	clock *clock
}

func start(tb testing.TB, net *network, change func(*poller.Account)) setup {
	tb.Helper()
	log := pipelinetest.Log(tb, pipelinetest.Server(tb, tb.TempDir()).URL())
	return on(tb, log, net, change)
}

func on(tb testing.TB, log *jetstream.Log, net *network, change func(*poller.Account)) setup {
	tb.Helper()
	c := &clock{t: now}
	account := poller.Account{Name: "main", Backfill: 48 * time.Hour}
	if change != nil {
		change(&account)
	}
	return setup{poller.New(poller.Config{
		Account: account, Network: net, Log: log, Publisher: log.Publisher(), Now: c.now,
		Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	}), log, c}
}

func (s setup) poll(tb testing.TB) {
	tb.Helper()
	if err := s.Poll(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// versions reads the whole log and returns the last version of each order, and
// fails on a gap or a doubled version.
func (s setup) versions(tb testing.TB) map[string]uint64 {
	tb.Helper()
	last, err := s.log.Last(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	found := make(map[string]uint64)
	if last == 0 {
		return found
	}
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	in, err := s.log.Follow(ctx, 0)
	if err != nil {
		tb.Fatal(err)
	}
	for msg := range in {
		e, err := pipeline.ReadEntry(msg)
		if err != nil {
			tb.Fatal(err)
		}
		sn := e.Event.Data.Order.OrderSn.String()
		if found[sn]++; found[sn] != e.Event.Data.Version {
			tb.Fatalf("order %s: version %d after %d", sn, e.Event.Data.Version, found[sn]-1)
		}
		if e.Sequence == last {
			break
		}
	}
	return found
}

func spread(i int) time.Time { return now.Add(-time.Duration(i%170_000) * time.Second) }

func TestEveryOrderOnce(t *testing.T) {
	t.Parallel()
	for name, habit := range map[string]func(*network){
		"as it should be": func(*network) {},
		"no total":        func(n *network) { n.noTotal = true },
		"no lines":        func(n *network) { n.bare = true },
		"smaller pages":   func(n *network) { n.cap = 50 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			net := newNetwork(3000, func(i int) time.Time { return spread(i * 57) })
			habit(net)
			s := start(t, net, nil)
			s.poll(t)
			if got := len(s.versions(t)); got != 3000 {
				t.Fatalf("%d orders of 3000", got)
			}
			s.clock.add(time.Minute)
			for i := range 100 {
				net.move(fmt.Sprintf("SN-%06d", i*7), "1", s.clock.now().Add(-time.Second))
			}
			s.poll(t)
			s.poll(t)
			versions := s.versions(t)
			for i := range 100 {
				if v := versions[fmt.Sprintf("SN-%06d", i*7)]; v != 2 {
					t.Fatalf("order %d has version %d", i*7, v)
				}
			}
			if st := s.Stats(); st.Created != 3000 || st.Changed != 100 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// A network that ignores the page parameter gives its first page for ever; the
// poller gets at the rest by smaller windows.
func TestNetworkThatDoesNotPage(t *testing.T) {
	t.Parallel()
	net := newNetwork(1000, func(i int) time.Time { return now.Add(-time.Duration(i*100) * time.Second) })
	net.deaf, net.noTotal = true, true
	s := start(t, net, nil)
	s.poll(t)
	if got := len(s.versions(t)); got != 1000 {
		t.Errorf("%d orders of 1000", got)
	}
}

// While the pages of a window are read, orders of its first page move to its
// end, so that others slip from page 2 to page 1 unseen.
func TestOrdersThatMoveWhileTheyArePaged(t *testing.T) {
	t.Parallel()
	for _, noTotal := range []bool{false, true} {
		t.Run(fmt.Sprintf("noTotal=%v", noTotal), func(t *testing.T) {
			t.Parallel()
			net := newNetwork(2000, func(i int) time.Time { return now.Add(-47*time.Hour + time.Duration(i)*time.Second) })
			net.noTotal = noTotal
			moved := 0
			net.before = func(q openapi.OrdersQuery) {
				if q.Page == 2 && moved < 50 {
					for range 10 {
						net.move(fmt.Sprintf("SN-%06d", moved), "1", now.Add(time.Hour))
						moved++
					}
				}
			}
			s := start(t, net, nil)
			s.poll(t)
			if got := len(s.versions(t)); got != 2000 {
				t.Errorf("%d orders of 2000", got)
			}
		})
	}
}

func TestCursorSurvivesAFailure(t *testing.T) {
	t.Parallel()
	net := newNetwork(500, func(i int) time.Time { return spread(i * 300) })
	down := errors.New("no route to host")
	net.refuse = func(q openapi.OrdersQuery) error {
		if q.To.After(now.Add(-time.Hour)) {
			return &openapi.TransportError{Err: down}
		}
		return nil
	}
	s := start(t, net, nil)
	if err := s.Poll(t.Context()); !errors.Is(err, down) || !strings.Contains(err.Error(), "account main") {
		t.Fatalf("err = %v", err)
	}
	lists := net.lists
	net.refuse = nil
	again := on(t, s.log, net, nil) // a new process
	again.poll(t)
	if got := len(again.versions(t)); got != 500 {
		t.Errorf("%d orders of 500", got)
	}
	if net.lists-lists > 3 {
		t.Errorf("%d pages read again behind the cursor", net.lists-lists)
	}
}

// Two pollers of one account, by mistake, at the same time.
func TestTwoPollersAtOnce(t *testing.T) {
	t.Parallel()
	net := newNetwork(1500, func(i int) time.Time { return spread(i * 100) })
	server := pipelinetest.Server(t, t.TempDir())
	a := on(t, pipelinetest.Log(t, server.URL()), net, nil)
	b := on(t, pipelinetest.Log(t, server.URL()), net, nil)
	var both sync.WaitGroup
	for _, s := range []setup{a, b} {
		both.Go(func() {
			for round := range 5 {
				for i := range 200 {
					net.move(fmt.Sprintf("SN-%06d", i*3), fmt.Sprint(round%3), now.Add(-time.Second))
				}
				if err := s.Poll(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	a.poll(t)
	versions := a.versions(t)
	if len(versions) != 1500 {
		t.Errorf("%d orders of 1500", len(versions))
	}
	state, err := a.log.Load(t.Context(), schema.OrderKey{Account: "main", Program: "1042", OrderSn: "SN-000003"})
	if err != nil || state.Event.Data.Order.Status.String() != net.orders["SN-000003"].status {
		t.Errorf("last state %v, %v; the network has %s", state.Event, err, net.orders["SN-000003"].status)
	}
}

func TestBadRecordsGoToTheDeadLetters(t *testing.T) {
	t.Parallel()
	net := newNetwork(10, spread)
	net.orders["SN-000003"].price = "12,50"
	net.orders["SN-000005"].price = "123456789.00"
	net.orders["SN-000004"].sn = ""
	s := start(t, net, nil)
	s.poll(t)
	s.poll(t)
	if got := len(s.versions(t)); got != 7 {
		t.Errorf("%d orders of 7", got)
	}
	if st := s.Stats(); st.Bad == 0 || st.Failure != "" {
		t.Errorf("%+v", st)
	}
}

// An order that a window of creation time held and does not hold any more has
// vanished, once, and may come back.
func TestVanished(t *testing.T) {
	t.Parallel()
	net := newNetwork(300, func(i int) time.Time { return now.Add(-time.Duration(i) * time.Minute) })
	s := start(t, net, func(a *poller.Account) { a.OrderField = poller.CreationTime })
	net.time = s.clock.now
	s.poll(t)
	lost := net.orders["SN-000007"]
	delete(net.orders, "SN-000007")
	for range 3 {
		s.clock.add(time.Second)
		s.poll(t)
	}
	k := schema.OrderKey{Account: "main", Program: "1042", OrderSn: "SN-000007"}
	state, err := s.log.Load(t.Context(), k)
	if err != nil || state.Event.Type != schema.OrderVanished || state.Event.Data.Version != 2 {
		t.Fatalf("%+v, %v", state.Event, err)
	}
	net.orders["SN-000007"] = lost
	s.clock.add(time.Second)
	s.poll(t)
	if state, err = s.log.Load(t.Context(), k); err != nil || state.Event.Type != schema.OrderUpdated || state.Event.Data.Version != 3 {
		t.Errorf("%+v, %v", state.Event, err)
	}
	if len(s.versions(t)) != 300 {
		t.Error("another order vanished")
	}
}

func TestCreationTimeIsReadAgainMoreRarelyWithAge(t *testing.T) {
	t.Parallel()
	net := newNetwork(0, nil)
	s := start(t, net, func(a *poller.Account) { a.OrderField, a.Backfill = "OrderDatatime", 90*24*time.Hour })
	s.poll(t)
	if net.lists != 91 {
		t.Errorf("the first poll reads %d windows", net.lists)
	}
	reads := func(d time.Duration) int {
		before := net.lists
		s.clock.add(d)
		s.poll(t)
		return net.lists - before
	}
	if got := reads(time.Minute); got != 2 {
		t.Errorf("a minute later: %d windows", got)
	}
	if got := reads(time.Hour); got < 7 || got > 9 {
		t.Errorf("an hour later: %d windows", got)
	}
	if got := reads(24 * time.Hour); got != 91 {
		t.Errorf("a day later: %d windows", got)
	}
}
