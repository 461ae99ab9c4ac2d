package jetstream_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

const (
	clusterEvents = 200_000 // published at least, over all faults
	clusterGroups = 20
	clusterBatch  = 250
	faultEvery    = 12_000 // events acknowledged between two faults
	faultHold     = 20 * time.Second
	clusterLimit  = 6 * time.Minute
)

// clusterTimeout bounds one request. The servers elect a new leader within 4 to 9
// seconds; a request that went to the old one is better made again soon.
const clusterTimeout = 2 * time.Second

// fault is something that happens to a cluster while it is published to.
type fault struct {
	name string
	do   func(tb testing.TB, c *pipelinetest.Cluster)
}

func faults() []fault {
	return []fault{
		{"leader killed", func(tb testing.TB, c *pipelinetest.Cluster) {
			leader := c.Leader(tb, jetstream.StreamName)
			leader.Kill(tb)
			leader.Revive(tb)
		}},
		{"leader paused for 20 s", func(tb testing.TB, c *pipelinetest.Cluster) {
			leader := c.Leader(tb, jetstream.StreamName)
			leader.Pause(tb)
			hold(tb)
			leader.Unpause(tb)
		}},
		{"leader cut from the network for 20 s", func(tb testing.TB, c *pipelinetest.Cluster) {
			leader := c.Leader(tb, jetstream.StreamName)
			leader.Cut(tb)
			hold(tb)
			leader.Heal(tb)
		}},
		{"leader cut from its peers only, for 20 s", func(tb testing.TB, c *pipelinetest.Cluster) {
			leader := c.Leader(tb, jetstream.StreamName)
			leader.Part(tb)
			hold(tb)
			leader.Heal(tb)
		}},
		{"rolling restart", func(tb testing.TB, c *pipelinetest.Cluster) { c.RollingRestart(tb) }},
		{"all three killed and started", func(tb testing.TB, c *pipelinetest.Cluster) {
			c.KillAll(tb)
			c.ReviveAll(tb)
		}},
	}
}

// hold lets a fault last.
func hold(tb testing.TB) {
	tb.Helper()
	select {
	case <-time.After(faultHold):
	case <-tb.Context().Done():
	}
}

// Two writers bring the same orders from version to version on three servers, to
// which one fault after the other happens meanwhile. Afterwards nothing is lost,
// doubled or out of order; the state bucket stands at the last version of every
// order; the follower saw the log as it is; and each server holds the same.
func TestContainerClusterFaults(t *testing.T) {
	c := pipelinetest.ContainerCluster(t)
	limited, cancel := context.WithTimeout(t.Context(), clusterLimit)
	defer cancel()
	ctx, stop := context.WithCancelCause(limited)
	defer stop(nil)
	cfg := jetstream.Config{URL: c.URL(), Timeout: clusterTimeout, Streams: jetstream.StreamConfig{Replicas: 3}}
	d, book, enough := newDiary(), &ledger{}, make(chan struct{})
	rivals := []*rival{{name: "one", repeats: true}, {name: "two", shift: clusterBatch / 2}}
	var writing errgroup.Group
	for _, r := range rivals {
		r.log, r.groups, r.batch = openLog(t, cfg), clusterGroups, clusterBatch
		r.ledger, r.diary, r.enough = book, d, enough
		writing.Go(func() error {
			err := r.run(ctx)
			if err != nil {
				stop(err) // nothing more is to be waited for
			}
			return err
		})
	}
	reader := jetstream.Config{URL: c.URL(), ReadOnly: true} // one with other replicas would change the streams
	f := follow(ctx, t, openLog(t, reader))

	next := uint64(faultEvery)
	for _, fault := range faults() {
		d.events.await(ctx, t, next)
		before := servers(rivals)
		d.open(fault.name)
		fault.do(t, c)
		c.AwaitHealthy(t)
		next = d.events.now() + faultEvery
		t.Logf("%s: writers were at %s, now at %s", fault.name, before, servers(rivals))
	}
	d.events.await(ctx, t, max(next, clusterEvents))
	close(enough)
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	d.open("the end")
	d.report(t, "one", "two")

	l := openLog(t, reader)
	last, err := l.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log := readStored(t, l, last)
	book.check(t, log)
	t.Logf("%d events; %s", last, book.tally(log))
	f.last.await(limited, t, last)
	if got := f.ids(); !slices.Equal(got, storedIDs(log)) {
		t.Errorf("the follower saw %d events, not the %d of the log one by one", len(got), last)
	}
	checkBucket(t, c, log)
	checkReplicas(t, c, log)
}

func servers(rivals []*rival) string {
	var all []string
	for _, r := range rivals {
		all = append(all, r.log.Server())
	}
	return strings.Join(all, " and ")
}

func storedIDs(log []stored) []string {
	all := make([]string, len(log))
	for i, s := range log {
		all[i] = s.id
	}
	return all
}

// report logs how long publication stood still, and which errors there were.
func (d *diary) report(tb testing.TB, writers ...string) {
	tb.Helper()
	for n, c := range d.chapters[:len(d.chapters)-1] {
		line := fmt.Sprintf("%s: publication stood still for %s", c.name, d.standstill(n, writers...).Round(10*time.Millisecond))
		for _, w := range writers {
			line += fmt.Sprintf(", writer %s for %s", w, d.standstill(n, w).Round(10*time.Millisecond))
		}
		tb.Log(line)
		for _, e := range slices.Sorted(maps.Keys(d.errors[c.name])) {
			tb.Logf("  %5d × %s", d.errors[c.name][e], e)
		}
	}
	for _, w := range writers {
		tb.Logf("writer %s had %d batches acknowledged", w, len(d.acks[w]))
	}
	tb.Logf("%d events acknowledged in %s", d.events.now(), time.Since(d.start).Round(time.Second))
}

// checkBucket waits until the state bucket has taken in the whole log, and holds
// each of its entries against the last event of its order.
func checkBucket(tb testing.TB, c *pipelinetest.Cluster, log []stored) {
	tb.Helper()
	want := make(map[string]stored)
	for _, s := range log {
		want["$KV."+jetstream.StateBucket+"."+s.key.String()] = s
	}
	nc, err := nats.Connect(c.URL())
	if err != nil {
		tb.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	cons, err := js.OrderedConsumer(ctx, "KV_"+jetstream.StateBucket, natsjs.OrderedConsumerConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	msgs, err := cons.Messages()
	if err != nil {
		tb.Fatal(err)
	}
	defer context.AfterFunc(ctx, msgs.Stop)()
	for behind := len(want); behind > 0; { // an entry comes again when it changes
		m, err := msgs.Next()
		if err != nil {
			tb.Fatalf("the bucket is behind at %d of %d orders: %v", behind, len(want), err)
		}
		e, err := schema.ParseEvent(m.Data())
		if err != nil {
			tb.Fatalf("%s: %v", m.Subject(), err)
		}
		s, ok := want[m.Subject()]
		source := strings.Fields(m.Headers().Get("Nats-Stream-Source"))
		switch {
		case !ok || e.Data.Version > s.version:
			tb.Fatalf("the bucket holds %s at version %d, which is not in the log", m.Subject(), e.Data.Version)
		case e.Data.Version < s.version:
		case e.ID != s.id || len(source) < 2 || source[1] != fmt.Sprint(s.sequence):
			tb.Fatalf("the bucket holds %s as event %s of %v, the log as %s of sequence %d", m.Subject(), e.ID, source, s.id, s.sequence)
		default:
			behind--
		}
	}
}

// checkReplicas reads the whole log from each server while the others are dead, so
// that nobody else can answer.
func checkReplicas(tb testing.TB, c *pipelinetest.Cluster, log []stored) {
	tb.Helper()
	digests := make(map[string][32]byte) // of the first server that was read
	for _, n := range c.Nodes {
		c.AwaitHealthy(tb)
		n.Lead(tb, jetstream.StreamName)
		for _, other := range c.Nodes {
			if other != n {
				other.Kill(tb)
			}
		}
		held, err := n.Replica(tb.Context(), jetstream.StreamName)
		if err != nil {
			tb.Fatal(err)
		}
		c.ReviveAll(tb)
		if len(held) != len(log) {
			tb.Errorf("%s holds %d messages, the log has %d", n.Name, len(held), len(log))
			continue
		}
		for i, m := range held {
			s := log[i]
			first, again := digests[m.ID]
			digests[m.ID] = m.Digest
			if m.Sequence != s.sequence || m.ID != s.id || !strings.HasPrefix(m.Subject, "orders."+s.key.String()+".") || again && m.Digest != first {
				tb.Fatalf("%s holds %s at %d, the log %s at %d", n.Name, m.ID, m.Sequence, s.id, s.sequence)
			}
		}
	}
}
