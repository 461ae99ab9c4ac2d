package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// replayedTo runs `webhook replay`, which has to succeed.
func (w *world) replayedTo(tb testing.TB, name string, args ...string) (r replay.Report) {
	tb.Helper()
	out := succeed(tb, append([]string{"webhook", "replay", name, "-c", w.config, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Single events by their ids, from the archive and from the log, and what the
// endpoint has given up on: with the bodies of live deliveries, and counted first.
func TestWebhookReplay(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	live, _ := in.take()
	w.atWork(t, func(ctx context.Context, log *jetstream.Log, stream natsjs.Stream) {
		for i, name := range []string{"partner", "partner", "another", "partner"} {
			sequence := []uint64{200, 20, 21, 180}[i]
			m, err := stream.GetMsg(ctx, sequence)
			if err != nil {
				t.Fatal(err)
			}
			letter := pipeline.DeadLetter{Sink: name, Reason: "the receiver answered 500", Subject: m.Subject, Sequence: sequence, Attempts: 3, Raw: m.Data}
			if err := log.Bury(ctx, letter); err != nil {
				t.Fatal(err)
			}
		}
	})
	w.trim(t, 150)
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"--event", ids[199], "--event", ids[19]}, []string{ids[19], ids[199]}},
		{[]string{"--event", ids[19], "--source", "archive"}, []string{ids[19]}},
		{[]string{"--event", ids[19], "--event", ids[199], "--from", "150", "--rate", "none"}, []string{ids[199]}},
		{[]string{"--failures"}, []string{ids[19], ids[179], ids[199]}},
		{[]string{"--failures", "--until", "190", "--rate", "50"}, []string{ids[19], ids[179]}},
	}
	for _, tt := range tests {
		dry := w.replayedTo(t, "partner", append(tt.args, "--dry-run")...)
		if got, _ := in.take(); len(got) > 0 || dry.Events != uint64(len(tt.want)) || !dry.DryRun {
			t.Errorf("%v: dry run %+v, %d deliveries", tt.args, dry, len(got))
		}
		r := w.replayedTo(t, "partner", append(tt.args, "--concurrency", "1")...)
		got, order := in.take()
		sameDeliveries(t, live, got, tt.want)
		if r.Delivered != uint64(len(tt.want)) || !slices.Equal(order, tt.want) {
			t.Errorf("%v: %+v, came %v", tt.args, r, order)
		}
	}
	out := succeed(t, "webhook", "replay", "partner", "-c", w.config, "--from", "150", "--until", "199", "--event", "none", "--event", ids[160], "--dry-run", "--rate", "0.5/s")
	words := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"not found none", "duration 2s or longer, at 0.5/s", "nothing was sent to webhook=partner"} {
		if !strings.Contains(words, want) {
			t.Errorf("dry run without %q:\n%s", want, out)
		}
	}
	if out := succeed(t, "webhook", "replay", "partner", "-c", w.config, "--failures", "--since", "2100-01-01"); !strings.Contains(out, "nothing to do") {
		t.Errorf("no failures:\n%s", out)
	}
	if _, errs, code := orderwire(t, "", "webhook", "replay", "-c", w.config); code != 2 || !strings.Contains(errs, "say which endpoint") {
		t.Errorf("no name: exit code %d: %s", code, errs)
	}
}

// An endpoint that was added when the events were there already gets them beside a
// process at work, whose own deliveries leave nothing out and keep their order.
func TestWebhookReplayBesideLiveTraffic(t *testing.T) {
	t.Parallel()
	in, later := newInbox(t), newInbox(t)
	w, ids := replayWorld(t, in)
	live, _ := in.take()
	c, err := config.Load(w.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, code := orderwire(t, "", "webhook", "replay", "added", "-c", w.config, "--from", "1"); code != 2 {
		t.Errorf("an endpoint that is none: exit code %d", code)
	}
	w.atWork(t, func(ctx context.Context, log *jetstream.Log, _ natsjs.Stream) {
		d := endpoints.Definition{Name: "added", URL: later.server.URL, Secret: later.secret, AllowPrivate: true, RateLimit: 2000}
		if _, err := endpoints.New(c, log, nil).Add(ctx, d, endpoints.Start{}); err != nil {
			t.Fatal(err)
		}
	})
	p := launch(t, "run", "-c", w.config)
	p.log.await(t, "line is running")
	w.step(t, 60)
	r := w.replayedTo(t, "added", "--until", "200", "--rate", "none")
	got, order := later.take()
	fresh := func(id string) bool { return !slices.Contains(ids, id) } // may come live
	maps.DeleteFunc(got, func(id string, _ []string) bool { return fresh(id) })
	order = slices.DeleteFunc(order, fresh)
	sameDeliveries(t, live, got, ids[:200])
	ascending(t, got, order)
	if r.Rate != 2000 || r.Delivered != 200 {
		t.Errorf("%+v", r)
	}
	p.terminate(t)
	succeed(t, "run", "-c", w.config, "--once")
	all := w.events(t)
	got, order = in.take()
	ascending(t, got, order)
	if len(all) <= len(ids) || len(got) != len(all)-len(ids) {
		t.Errorf("%d events came live, of %d new ones", len(got), len(all)-len(ids))
	}
}

// A receiver is down while the log, bounded in messages, loses what was parked for
// it: once it is up, that comes from the archive, and an endpoint that was up all the
// time has had the same bodies.
func TestParkedOrdersOutliveTheLog(t *testing.T) {
	t.Parallel()
	down, up := newInbox(t), newInbox(t)
	down.failing.Store(true)
	down.refusal = http.StatusInternalServerError // which does not slow it down
	retry := strings.Repeat("5s, ", 30) + "5s"
	w := newWorld(t, worldConfig{orders: 60, yaml: fmt.Sprintf(`nats: {max_messages: 90}
webhooks:
  - {name: partner, url: '%s', secret: '%s', allow_private: true, retry: [%s]}
  - {name: steady, url: '%s', secret: '%s', allow_private: true}
`, down.server.URL, down.secret, retry, up.server.URL, up.secret)})
	for range 3 {
		succeed(t, "run", "-c", w.config, "--once")
		w.step(t, 30)
	}
	live, order := up.take()
	if first := w.events(t)[0].ID; first == order[0] || len(order) <= 90 {
		t.Fatalf("nothing has aged out of %d events", len(order))
	}
	down.failing.Store(false)
	begun := time.Now()
	p := launch(t, "run", "-c", w.config, "--only", "webhook")
	got, arrived := make(map[string][]string), []string(nil)
	for len(got) < len(live) {
		select {
		case <-down.more:
		case <-time.After(30 * time.Second):
			var lacking []string
			for id := range live {
				if got[id] == nil {
					lacking = append(lacking, live[id][0][:min(400, len(live[id][0]))])
				}
			}
			t.Fatalf("%d of %d events came, and no more; lacking\n%s", len(got), len(live), strings.Join(lacking, "\n"))
		}
		some, order := down.take()
		maps.Copy(got, some)
		arrived = append(arrived, order...)
	}
	t.Logf("caught up in %s", time.Since(begun))
	p.terminate(t)
	sameDeliveries(t, live, got, slices.Collect(maps.Keys(live)))
	ascending(t, got, arrived)
}
