package poller_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

func (s setup) last(tb testing.TB, sn string) schema.Event {
	tb.Helper()
	state, err := s.log.Load(tb.Context(), schema.OrderKey{Account: "main", Program: "1042", OrderSn: sn})
	if err != nil || state.Event == nil {
		tb.Fatalf("order %s: %+v, %v", sn, state.Event, err)
	}
	return *state.Event
}

// One order is fetched without any poll: what is new gives an event, what is
// not gives none, and an old answer changes nothing.
func TestFetch(t *testing.T) {
	t.Parallel()
	net := newNetwork(3, spread)
	s := start(t, net, nil)
	fetch := func(sn string) {
		t.Helper()
		if err := s.Fetch(t.Context(), "1042", sn); err != nil {
			t.Fatal(err)
		}
	}
	fetch("SN-000001")
	fetch("SN-000001")
	if e := s.last(t, "SN-000001"); e.Type != schema.OrderCreated || e.Data.Version != 1 {
		t.Errorf("%+v", e)
	}
	net.move("SN-000001", "1", now)
	fetch("SN-000001")
	if e := s.last(t, "SN-000001"); e.Type != schema.StatusChanged || e.Data.Version != 2 || e.Data.Order.Status.String() != "1" {
		t.Errorf("%+v", e)
	}
	net.move("SN-000001", "2", now)
	net.time = func() time.Time { return now.Add(-time.Hour) } // before all that is in the log
	fetch("SN-000001")
	net.time = nil
	if e := s.last(t, "SN-000001"); e.Data.Version != 2 {
		t.Errorf("an old answer made %+v", e)
	}
	fetch("SN-000001")
	if e := s.last(t, "SN-000001"); e.Data.Version != 3 || e.Data.Order.Status.String() != "2" {
		t.Errorf("%+v", e)
	}
	if st := s.Stats(); net.lists != 0 || st.Hints != 5 || st.Created != 1 || st.Changed != 2 || st.Polls != 0 {
		t.Errorf("%d lists, %+v", net.lists, st)
	}
	s.poll(t)
	if v := s.versions(t); len(v) != 3 || v["SN-000001"] != 3 {
		t.Errorf("after a poll: %v", v)
	}
}

// A fetch that fails says why and names no order, and a record that is no order
// goes to the dead letters.
func TestFetchFails(t *testing.T) {
	t.Parallel()
	net := newNetwork(3, spread)
	s := start(t, net, nil)
	net.orders["SN-000001"].sn = "SN-000002" // another one than was asked for
	net.orders["SN-000002"].price = "12,50"
	for sn, want := range map[string]error{"SN-GONE": openapi.ErrNotFound, "SN-000001": nil} {
		err := s.Fetch(t.Context(), "1042", sn)
		if err == nil || want != nil && !errors.Is(err, want) || strings.Contains(err.Error(), "SN-") {
			t.Errorf("%s: %v", sn, err)
		}
	}
	if err := s.Fetch(t.Context(), "1042", "SN-000002"); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); st.Bad != 1 || st.Created != 0 || len(s.versions(t)) != 0 {
		t.Errorf("%+v", st)
	}
}

// Hints and polls of one account at once, in one process and in two: versions
// have no gap, and the log ends at what the network has.
func TestFetchBesidePolls(t *testing.T) {
	t.Parallel()
	const orders, rounds = 40, 15
	net := newNetwork(orders, func(i int) time.Time { return now.Add(-time.Duration(i) * time.Second) })
	server := pipelinetest.Server(t, t.TempDir())
	a := on(t, pipelinetest.Log(t, server.URL()), net, nil)
	b := on(t, pipelinetest.Log(t, server.URL()), net, nil)
	var all sync.WaitGroup
	for _, s := range []setup{a, b} {
		all.Go(func() {
			for range rounds {
				if err := s.Poll(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		for lane := range 4 {
			all.Go(func() {
				for round := range rounds * orders / 4 {
					sn := fmt.Sprintf("SN-%06d", (round*7+lane)%orders)
					net.move(sn, fmt.Sprint(round%3), now.Add(-time.Second))
					if err := s.Fetch(t.Context(), "1042", sn); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	for i := range orders {
		if err := a.Fetch(t.Context(), "1042", fmt.Sprintf("SN-%06d", i)); err != nil {
			t.Error(err)
		}
	}
	versions := a.versions(t)
	for sn, h := range net.orders {
		if e := a.last(t, sn); e.Data.Order.Status.String() != h.status || versions[sn] != e.Data.Version {
			t.Errorf("order %s: status %s at version %d of %d, the network has %s", sn, e.Data.Order.Status, e.Data.Version, versions[sn], h.status)
		}
	}
}

// While a first poll reads a long time, under the account's rate, a hint takes
// its turn behind what is in line already.
func TestFetchIsNotStarved(t *testing.T) {
	t.Parallel()
	var lists, before atomic.Int64
	begun := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "detail.get"):
			before.Store(lists.Load())
			io.WriteString(w, `{"Status":0,"Data":{"ProgramId":"1042","OrderSn":"SN","Status":"0","Details":[]}}`)
		default:
			if lists.Add(1) == 5 {
				close(begun)
			}
			io.WriteString(w, `{"Status":0,"Data":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	const rate = 40
	client, err := openapi.NewClient(openapi.Config{BaseURL: server.URL, AppKey: "k", AppSecret: "s", RequestsPerSecond: rate})
	if err != nil {
		t.Fatal(err)
	}
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	p := poller.New(poller.Config{
		Account: poller.Account{Name: "main", Backfill: 60 * 24 * time.Hour}, Network: client, Log: l, Publisher: l.Publisher(),
	})
	started := time.Now()
	var poll sync.WaitGroup
	poll.Go(func() {
		if err := p.Poll(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-begun
	asked := lists.Load()
	if err := p.Fetch(t.Context(), "1042", "SN"); err != nil {
		t.Fatal(err)
	}
	if passed := before.Load() - asked; passed > 4 { // two in line, and two that were sent meanwhile
		t.Errorf("%d pages went before the hint", passed)
	}
	poll.Wait()
	if n, most := lists.Load()+1, int64(time.Since(started).Seconds()*rate)+2; n < 60 || n > most {
		t.Errorf("%d requests where the rate allows %d", n, most)
	}
}
