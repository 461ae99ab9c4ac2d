package main_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// latencies measures the time from the beginning of an event's publication to
// its arrival at each of several receivers.
type latencies struct {
	mu    sync.Mutex
	begun map[string]time.Time // by event id
	all   []time.Duration
}

func (l *latencies) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[id] = time.Now()
}

func (l *latencies) arrive(id string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.begun[id]; ok {
		l.all = append(l.all, now.Sub(t))
	}
}

// percentile returns the time that so many of a hundred arrivals took at most.
func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(p/100*float64(len(all))))]
}

const (
	liveHealthy = 7
	liveRate    = 100 // events a second
	liveEvents  = 1000
	liveRounds  = 9 // of each kind, in turn
)

// BenchmarkNeighbours is what bad endpoints cost seven good ones: the time from
// the beginning of an event's publication to its arrival, at 100 events a second,
// with the log's server in the same process as the endpoints, beside rounds in which
// the seven are alone:
//
//	hanging     three more never answer
//	catching-up one more has 20,000 events to catch up with, at 500 a second
//	replaying   to one more, a replay of 20,000 events runs at its default pace
//
// The rounds take turns, and which of a pair comes first changes. Of each figure, the
// middle one of the rounds counts, as a disk that stalls for a moment shows in the
// 99th percentile of one. ×alone is the time beside that of the seven alone.
func BenchmarkNeighbours(b *testing.B) {
	for _, kind := range []string{"hanging", "catching-up", "replaying"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				var alone, beside rounds
				for n := range liveRounds {
					if n%2 == 0 {
						alone.add(live(b, "alone"))
					}
					beside.add(live(b, kind))
					if n%2 == 1 {
						alone.add(live(b, "alone"))
					}
				}
				for _, p := range []float64{50, 99} {
					figure := fmt.Sprintf("p%g", p)
					b.ReportMetric(milliseconds(beside.middle(p)), figure+"-ms")
					b.ReportMetric(milliseconds(alone.middle(p)), "alone-"+figure+"-ms")
					b.ReportMetric(float64(beside.middle(p))/float64(alone.middle(p)), figure+"-×alone")
				}
			}
		})
	}
}

// rounds holds the latencies of each round.
type rounds [][]time.Duration

func (r *rounds) add(all []time.Duration) { *r = append(*r, all) }

// middle returns the median of the rounds' percentiles.
func (r *rounds) middle(p float64) time.Duration {
	var each []time.Duration
	for _, all := range *r {
		each = append(each, percentile(all, p))
	}
	return percentile(each, 50)
}

// live publishes events to seven good endpoints, beside others.
func live(b *testing.B, kind string) []time.Duration {
	b.Helper()
	l := &latencies{begun: make(map[string]time.Time)}
	var yaml strings.Builder
	good := make([]*outlet, liveHealthy)
	for i := range good {
		good[i] = newOutlet(b, fmt.Sprint("good-", i), takes)
		good[i].arrival = l.arrive
		good[i].start(b)
	}
	dir, old := filepath.Join(b.TempDir(), "data"), 0
	var late *outlet
	switch kind {
	case "hanging":
		for i := range 3 {
			o := newOutlet(b, fmt.Sprint("hanging-", i), hangs)
			o.start(b)
			yaml.WriteString(o.yaml(""))
		}
	case "catching-up", "replaying":
		var ids []string
		dir, ids = filledLog(b, 20_000)
		old = len(ids)
		late = newOutlet(b, "late", takes)
		late.start(b)
		yaml.WriteString(late.yaml(", rate_limit: 500"))
	}
	for _, o := range good {
		yaml.WriteString(o.yaml(""))
	}
	config, had := delivering(b, dir, yaml.String()), good
	if kind == "replaying" {
		had = append(slices.Clone(good), late)
	}
	if old > 0 { // which these have had
		settle(b, dir, had, uint64(old))
	}
	p := launch(b, "run", "-c", config, "--only", "webhook")
	defer p.kill()
	p.log.await(b, "line is running")
	if kind == "replaying" {
		r := launch(b, "webhook", "replay", late.name, "-c", config, "--from", "1", "--until", fmt.Sprint(old))
		defer r.kill()
		late.await(b, 1)
	}
	url, err := jetstream.RunningURL(dir)
	if err != nil {
		b.Fatal(err)
	}
	log := pipelinetest.Log(b, url)
	defer func() { _ = log.Close() }()
	ids := l.publish(b, log)
	for _, o := range good {
		o.await(b, len(ids))
		o.server.Close()
	}
	return l.all
}

// settle puts the cursors of endpoints behind a sequence.
func settle(b *testing.B, dir string, outlets []*outlet, sequence uint64) {
	b.Helper()
	server, err := jetstream.StartEmbedded(b.Context(), jetstream.EmbeddedConfig{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	log := pipelinetest.Log(b, server.URL())
	defer func() { _ = log.Close() }()
	for _, o := range outlets {
		if err := log.SaveCursor(b.Context(), "endpoint."+o.name, pipeline.Cursor{Floor: sequence}); err != nil {
			b.Fatal(err)
		}
	}
}

// publish stores new orders at a steady rate.
func (l *latencies) publish(b *testing.B, log *jetstream.Log) (ids []string) {
	b.Helper()
	tick := time.NewTicker(time.Second / liveRate)
	defer tick.Stop()
	for n := range liveEvents {
		event := pipelinetest.Event("live", n, 1)
		m, err := pipeline.NewMessage(&event, 0, 1)
		if err != nil {
			b.Fatal(err)
		}
		<-tick.C
		l.begin(event.ID)
		if err := log.Publisher().Publish(pipeline.Topic, message.Messages{m}...); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, event.ID)
	}
	return ids
}

// An endpoint that is down while all events come, and then up: it gets everything,
// in order, and no faster than its limit. Its neighbour had everything long before.
func TestDownThenUp(t *testing.T) {
	t.Parallel()
	const limit = 200
	dir, ids := filledLog(t, 1500)
	up, late := newOutlet(t, "up", takes), newOutlet(t, "late", takes)
	up.start(t)
	address := late.server.Listener.Addr().String()
	if err := late.server.Listener.Close(); err != nil { // nobody listens there
		t.Fatal(err)
	}
	var mu sync.Mutex
	var arrivals []time.Time
	late.arrival = func(string) {
		mu.Lock()
		defer mu.Unlock()
		arrivals = append(arrivals, time.Now())
	}
	config := delivering(t, dir, up.yaml("")+late.yaml(fmt.Sprintf(", rate_limit: %d, retry: %s", limit, often(100*time.Millisecond, 100))))
	p := launch(t, "run", "-c", config, "--only", "webhook")
	up.await(t, len(ids))
	p.log.await(t, "every delivery fails") // the breaker has opened
	late.listen(t, address)
	late.start(t)
	late.await(t, len(ids))
	p.terminate(t)
	up.check(t, ids)
	late.check(t, ids)
	for i := range arrivals {
		n, found := slices.BinarySearchFunc(arrivals, arrivals[i].Add(time.Second), time.Time.Compare)
		if found {
			n++
		}
		if n-i > limit*11/10+limit/20 { // a burst is a twentieth; a tenth for arrivals that were held up on the way
			t.Fatalf("%d deliveries within a second", n-i)
		}
	}
}
