package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

const testTTL = 1400 * time.Millisecond

// leases opens a log and its leases, as another process would.
func leases(tb testing.TB, url, owner string) *jetstream.Leases {
	tb.Helper()
	return leasesFor(tb, url, owner, testTTL)
}

func leasesFor(tb testing.TB, url, owner string, ttl time.Duration) *jetstream.Leases {
	tb.Helper()
	l, err := jetstream.Open(tb.Context(), jetstream.Config{URL: url})
	if err != nil {
		tb.Fatal(err)
	}
	ls, err := l.Leases(tb.Context(), jetstream.LeaseConfig{Owner: owner, TTL: ttl})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ls.Close()
		_ = l.Close()
	})
	return ls
}

func acquire(tb testing.TB, ls *jetstream.Leases, name string) (context.Context, *jetstream.Lease) {
	tb.Helper()
	held, lease, err := ls.Acquire(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return held, lease
}

// proxy passes connections on to a server until it is cut: then nothing passes
// any more, and nobody is told.
type proxy struct {
	listener net.Listener
	severed  atomic.Bool
	waiting  sync.WaitGroup
}

func newProxy(tb testing.TB, to string) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{listener: listener}
	ctx := tb.Context()
	p.waiting.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			stop := context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })
			p.waiting.Go(func() { defer stop(); p.pass(in, out) })
			p.waiting.Go(func() { p.pass(out, in) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		p.waiting.Wait()
	})
	return p
}

func (p *proxy) pass(from io.Reader, to io.WriteCloser) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if p.severed.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// A holder that is cut off stops by itself before the other one begins.
func TestLeaseCutOff(t *testing.T) {
	t.Parallel()
	at := natsServer(t, server.Options{})
	way := newProxy(t, at)
	first, second := leases(t, way.url(), "first"), leases(t, "nats://"+at, "second")
	held, _ := acquire(t, first, "account.main")
	type result struct {
		early bool
		err   error
		after time.Duration
	}
	taken := make(chan result)
	var cut atomic.Int64
	go func() {
		_, _, err := second.Acquire(t.Context(), "account.main")
		taken <- result{early: held.Err() == nil, err: err, after: time.Duration(time.Now().UnixNano() - cut.Load())}
	}()
	select { // several renewals later it is still the first one's
	case r := <-taken:
		t.Fatalf("taken over from a living holder: %+v", r)
	case <-held.Done():
		t.Fatalf("lost although nothing happened: %v", context.Cause(held))
	case <-time.After(2 * testTTL):
	}
	cut.Store(time.Now().UnixNano())
	way.severed.Store(true)
	r := <-taken
	if r.err != nil || r.early {
		t.Errorf("the first one still worked when the second began: %+v", r)
	}
	if !errors.Is(context.Cause(held), jetstream.ErrLeaseLost) {
		t.Errorf("cause: %v", context.Cause(held))
	}
	if most := testTTL + testTTL/7 + 2*time.Second; r.after > most {
		t.Errorf("taken over after %s", r.after)
	}
	t.Logf("taken over %s after the cut, with a TTL of %s", r.after.Round(time.Millisecond), testTTL)
	if h := second.Holders()["account.main"]; h.Holder != "second" || !h.Here {
		eventually(t, func() string { return fmt.Sprintf("%+v", h) }, func() bool {
			h = second.Holders()["account.main"]
			return h.Holder == "second" && h.Here
		})
	}
}

// A lease that is released is taken over at once.
func TestLeaseRelease(t *testing.T) {
	t.Parallel()
	url := "nats://" + natsServer(t, server.Options{})
	const long = 14 * time.Second // so that only the release can be the reason
	first, second := leasesFor(t, url, "first", long), leasesFor(t, url, "second", long)
	held, lease := acquire(t, first, "sink.archive")
	_, _, err := second.TryAcquire(t.Context(), "sink.archive")
	var by *jetstream.HeldError
	if !errors.As(err, &by) || by.Holder != "first" {
		t.Fatalf("err = %v", err)
	}
	taken := make(chan time.Time)
	go func() {
		_, _ = acquire(t, second, "sink.archive")
		taken <- time.Now()
	}()
	released := time.Now()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if held.Err() == nil || errors.Is(context.Cause(held), jetstream.ErrLeaseLost) {
		t.Errorf("after the release: %v", context.Cause(held))
	}
	if took := (<-taken).Sub(released); took >= long/2 {
		t.Errorf("taken over after %s", took)
	}
	// the same process has it again, too
	_, lease = acquire(t, first, "sink.commission")
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	acquire(t, first, "sink.commission")
}

// A holder whose key somebody removed, or took, stops.
func TestLeaseTaken(t *testing.T) {
	t.Parallel()
	url := "nats://" + natsServer(t, server.Options{})
	ls := leases(t, url, "first")
	kv, err := admin(t, url).KeyValue(t.Context(), jetstream.LeaseBucket)
	if err != nil {
		t.Fatal(err)
	}
	for name, take := range map[string]func() error{
		"account.deleted": func() error { return kv.Delete(t.Context(), "account.deleted") },
		"account.taken": func() error {
			_, err := kv.Put(t.Context(), "account.taken", []byte("mine"))
			return err
		},
	} {
		held, lease := acquire(t, ls, name)
		if err := take(); err != nil {
			t.Fatal(err)
		}
		<-held.Done()
		if !errors.Is(context.Cause(held), jetstream.ErrLeaseLost) {
			t.Errorf("%s: %v", name, context.Cause(held))
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	entry, err := kv.Get(t.Context(), "account.taken")
	if err != nil || string(entry.Value()) != "mine" {
		t.Errorf("the release removed another one's lease: %v", err)
	}
}

// Many contend, one at a time works, and everybody's turn comes.
func TestLeaseContenders(t *testing.T) {
	t.Parallel()
	url := "nats://" + natsServer(t, server.Options{})
	var working, turns atomic.Int64
	var all sync.WaitGroup
	for i := range 6 {
		ls := leases(t, url, fmt.Sprint("process ", i))
		all.Go(func() {
			for range 3 {
				held, lease, err := ls.Acquire(t.Context(), "account.main")
				if err != nil {
					t.Error(err)
					return
				}
				if working.Add(1) != 1 || held.Err() != nil {
					t.Error("two hold the lease")
				}
				turns.Add(1)
				working.Add(-1)
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if turns.Load() != 18 {
		t.Errorf("%d turns", turns.Load())
	}
}

// Two processes that start together share the accounts.
func TestLeasesAreShared(t *testing.T) {
	t.Parallel()
	url := "nats://" + natsServer(t, server.Options{})
	both := []*jetstream.Leases{leases(t, url, "first"), leases(t, url, "second")}
	var taken sync.WaitGroup
	taken.Add(8)
	for _, ls := range both {
		for n := range 8 {
			go func() {
				if _, _, err := ls.Acquire(t.Context(), fmt.Sprint("account.", n)); err == nil {
					taken.Done()
				}
			}()
		}
	}
	taken.Wait()
	count := func() map[string]int {
		counts := make(map[string]int)
		for _, h := range both[0].Holders() {
			counts[h.Holder]++
		}
		return counts
	}
	eventually(t, func() string { return fmt.Sprint(count()) }, func() bool { c := count(); return c["first"]+c["second"] == 8 })
	if c := count(); c["first"] == 0 || c["second"] == 0 {
		t.Errorf("not shared: %v", c)
	}
}

func TestLeaseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ls := leases(t, "nats://"+natsServer(t, server.Options{}), "")
	ctx, cancel := context.WithCancel(t.Context())
	held, lease, err := ls.Acquire(ctx, "account.main")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-held.Done()
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := ls.Acquire(ctx, "account.main"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, _ = acquire(t, ls, "account.other")
	eventually(t, func() string { return "no holder" }, func() bool { return strings.Contains(ls.Holders()["account.other"].Holder, "process") })
}
