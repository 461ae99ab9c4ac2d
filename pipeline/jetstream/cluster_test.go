package jetstream_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// cluster runs three servers in this process, and returns them with the list
// of their addresses.
func cluster(tb testing.TB) ([]*server.Server, string) {
	tb.Helper()
	var ports []int
	var routes []*url.URL
	for range 3 {
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		ports = append(ports, probe.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: probe.Addr().String()})
		if err := probe.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	var all []*server.Server
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("node-", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(),
			NoSigs: true, NoLog: true, Routes: routes, Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		})
		if err != nil {
			tb.Fatal(err)
		}
		go s.Start()
		tb.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		all = append(all, s)
	}
	var urls []string
	for _, s := range all {
		if !s.ReadyForConnections(30 * time.Second) {
			tb.Fatal("the server does not start")
		}
		urls = append(urls, s.ClientURL())
	}
	eventually(tb, func() string { return "the cluster has no leader with three members" }, func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				return true
			}
		}
		return false
	})
	return all, strings.Join(urls, ",")
}

// Two processes start at the same time on a cluster, and again with more
// replicas, and again with fewer.
func TestClusterReplicas(t *testing.T) {
	t.Parallel()
	_, urls := cluster(t)
	for _, replicas := range []int{1, 3, 1} {
		var starts sync.WaitGroup
		texts, errs := make([]string, 2), make([]error, 2)
		for i := range errs {
			starts.Go(func() { texts[i], errs[i] = reopen(t, urls, jetstream.StreamConfig{Replicas: replicas}) })
		}
		starts.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%d replicas: %v", replicas, err)
		}
		if c := configOf(t, urls, "ORDERS"); c.Replicas != replicas {
			t.Errorf("%d replicas, want %d\n%s", c.Replicas, replicas, strings.Join(texts, "\n"))
		}
	}
	if _, err := reopen(t, urls, jetstream.StreamConfig{Replicas: 5}); err == nil || !strings.Contains(err.Error(), "nats.replicas needs as many servers") {
		t.Error(err)
	}
	text := mustReopen(t, urls, jetstream.StreamConfig{Replicas: 3}) + mustReopen(t, urls, jetstream.StreamConfig{Replicas: 1})
	if !strings.Contains(text, "stream ORDERS: replicas 1 -> 3\"") || !strings.Contains(text, "replicas 3 -> 1 (fewer copies, no event goes)") {
		t.Error(text)
	}
}

// A lease outlives the server that led its bucket: its holder renews with the
// next leader, or stops before somebody else begins.
func TestClusterLease(t *testing.T) {
	t.Parallel()
	nodes, urls := cluster(t)
	mustReopen(t, urls, jetstream.StreamConfig{Replicas: 3})
	open := func(owner string) *jetstream.Leases {
		l, err := jetstream.Open(t.Context(), jetstream.Config{URL: urls, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		ls, err := l.Leases(t.Context(), jetstream.LeaseConfig{Owner: owner, TTL: 2 * testTTL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ls.Close)
		return ls
	}
	first, second := open("first"), open("second")
	held, _ := acquire(t, first, "account.main")
	type result struct{ early bool }
	taken := make(chan result)
	go func() {
		_, _, err := second.Acquire(t.Context(), "account.main")
		taken <- result{early: err == nil && held.Err() == nil}
	}()
	led := func() *server.Server {
		for _, s := range nodes {
			if s.Running() && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, "KV_"+jetstream.LeaseBucket) {
				return s
			}
		}
		return nil
	}
	leader := led()
	if leader == nil {
		t.Fatal("the bucket has no leader")
	}
	leader.Shutdown()
	eventually(t, func() string { return "the bucket has no new leader" }, func() bool { return led() != nil })
	select {
	case r := <-taken:
		if r.early {
			t.Error("the first one still worked when the second began")
		}
		t.Log("taken over, because the bucket had no leader for longer than the lease stands")
	case <-time.After(4 * testTTL):
		if held.Err() != nil {
			t.Error("there is a leader, and nobody has the lease")
		}
	}
}
