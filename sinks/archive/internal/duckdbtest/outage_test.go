package duckdbtest

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sinks/archive/internal/gatewaytest"
)

// outageVariable is how long the store is away, default 3s; the proof is 1m.
const outageVariable = "ORDERWIRE_TEST_OUTAGE"

// hangLimit is the time after which the program has said that a store hangs.
const hangLimit = 40 * time.Second

// The store is away for a while, dead or hanging, while events come: the sink says
// so and waits, and goes on by itself when the store is back.
func TestStoreAway(t *testing.T) {
	outage, err := time.ParseDuration(cmp.Or(os.Getenv(outageVariable), "3s"))
	if err != nil {
		t.Fatalf("%s: %v", outageVariable, err)
	}
	program(t)
	for _, fault := range []struct {
		name       string
		away, back func(*gatewaytest.Gateway) error
		says       string        // in the line that says that the sink stands still
		behind     time.Duration // when it comes
	}{
		{"dead", (*gatewaytest.Gateway).Kill, (*gatewaytest.Gateway).Revive, "connection refused", 0},
		{"hangs", (*gatewaytest.Gateway).Pause, (*gatewaytest.Gateway).Unpause, "has taken 30s already", hangLimit},
	} {
		t.Run(fault.name, func(t *testing.T) {
			const events = 20_000
			at, log := inBucket(t), newLog(t)
			log.fill(t, events)
			config := at.configure(t, log.url, "roll_bytes: 1MiB, roll_every: 1s")
			p := launch(t, program(t), "run", "--only", "archive", "-c", config)
			awaitArchived(t, at.folder, events/4)
			if err := fault.away(at.gateway); err != nil {
				t.Fatal(err)
			}
			over := time.After(outage)
			log.fill(t, events)
			if outage >= fault.behind {
				line := p.await(t, "sink stands still, the log holds its events")
				if t.Log(line); !strings.Contains(line, fault.says) {
					t.Errorf("no %q in that line", fault.says)
				}
			}
			if at := position(t, at.folder); at == 2*events {
				t.Fatalf("everything was archived before the store went away")
			}
			<-over
			if err := fault.back(at.gateway); err != nil {
				t.Fatal(err)
			}
			back := time.Now()
			awaitArchived(t, at.folder, 2*events)
			t.Logf("everything is archived %s after the store came back", time.Since(back).Round(time.Millisecond))
			p.terminate(t)
			log.once(t, at.folder)
			at.verify(t, config)
			noStrays(t, at.folder)
		})
	}
}
