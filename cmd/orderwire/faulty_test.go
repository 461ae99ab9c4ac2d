package main_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Sizes of [TestFaultyReceivers]: events of a tenth as many orders, and how often
// the sender is killed.
const (
	deliverEventsVariable = "ORDERWIRE_TEST_DELIVER_EVENTS"
	deliverKillsVariable  = "ORDERWIRE_TEST_DELIVER_KILLS"
)

func settingOr(variable, otherwise string) string { return cmp.Or(os.Getenv(variable), otherwise) }

// versionsEach is the number of events of an order.
const versionsEach = 10

// filledLog is a data directory whose log holds ten versions of each of many
// orders, those of different orders mixed.
func filledLog(tb testing.TB, events int) (dir string, ids []string) {
	tb.Helper()
	dir = filepath.Join(tb.TempDir(), "data")
	server, err := jetstream.StartEmbedded(tb.Context(), jetstream.EmbeddedConfig{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	log := pipelinetest.Log(tb, server.URL())
	defer func() { _ = log.Close() }()
	return dir, publish(tb, log, events/versionsEach, versionsEach)
}

// publish stores so many versions of so many orders.
func publish(tb testing.TB, log *jetstream.Log, orders int, versions uint64) (ids []string) {
	tb.Helper()
	for v := uint64(1); v <= versions; v++ {
		for from := 0; from < orders; from += jetstream.MaxBatch {
			var msgs []*message.Message
			for n := from; n < min(orders, from+jetstream.MaxBatch); n++ {
				event := pipelinetest.Event("main", n, v)
				known, _ := log.Known(event.Key())
				m, err := pipeline.NewMessage(&event, known.Sequence, v)
				if err != nil {
					tb.Fatal(err)
				}
				msgs, ids = append(msgs, m), append(ids, event.ID)
			}
			if err := log.Publisher().Publish(pipeline.Topic, msgs...); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return ids
}

// delivering writes a configuration with endpoints and nothing to poll.
func delivering(tb testing.TB, dir, endpoints string) (config string) {
	tb.Helper()
	config = filepath.Join(filepath.Dir(dir), "orderwire.yaml")
	text := fmt.Sprintf("data_dir: %q\nwebhooks:\n%s", dir, endpoints)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return config
}

// Receivers that fail, hang, cut the connection or answer byte by byte, and a
// sender that is killed at random moments: each of them gets every event, the first
// arrivals of an order in order, and every attempt of an event is the same body.
func TestFaultyReceivers(t *testing.T) {
	t.Parallel()
	events, kills := number(t, deliverEventsVariable, 500), number(t, deliverKillsVariable, 3)
	dir, ids := filledLog(t, events)
	var endpoints strings.Builder
	var outlets []*outlet
	for _, c := range []struct {
		name   string
		manner manner
		more   string
	}{
		{"fails-never", takes, ""},
		{"fails-10", failing(10), ""},
		{"fails-50", failing(50), ""},
		{"fails-90", failing(90), ", concurrency: 64"},
		{"hangs", sometimes(hangs, 50), ", timeout: 300ms, concurrency: 64"},
		{"cuts", sometimes(cuts, 5), ""},
		{"cuts-body", sometimes(cutsBody, 5), ""},
		{"trickles", sometimes(trickles, 10), ", concurrency: 64"},
		{"unavailable", sometimes(unavailable, 500), ""},
	} {
		o := newOutlet(t, c.name, c.manner)
		o.start(t)
		outlets = append(outlets, o)
		endpoints.WriteString(o.yaml(", retry: " + often(20*time.Millisecond, 300) + c.more))
	}
	config := delivering(t, dir, endpoints.String())
	for range kills {
		p := launch(t, "run", "-c", config, "--only", "webhook")
		p.log.await(t, "line is running")
		busy := outlets[rand.IntN(len(outlets))]
		busy.await(t, min(len(ids), busy.count()+1+rand.IntN(max(1, len(ids)/kills))))
		p.kill()
	}
	p := launch(t, "run", "-c", config, "--only", "webhook")
	for _, o := range outlets {
		o.await(t, len(ids))
	}
	p.terminate(t)
	for _, o := range outlets {
		o.check(t, ids)
	}
}
