package network_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// reopen opens the fixture's database once more.
func (f *fixture) reopen(t *testing.T, zone *time.Location, log *bytes.Buffer) *network.Service {
	t.Helper()
	config := network.Config{DB: f.db, TimeZone: zone, Now: f.clock.Now}
	if log != nil {
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	svc, err := network.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// Another zone has the statistics counted again, by days of which one has 25
// hours. A service of the zone before neither writes nor reads them any more.
func TestAnotherTimeZone(t *testing.T) {
	f := start(t, nil)
	sim := f.simulator(network.SimulatorConfig{Seed: 4, History: 40 * 24 * time.Hour}, 500)
	f.clicks(t, rand.New(rand.NewPCG(1, 1)), 200)
	f.checkStatistics(t, shanghai)

	berlin := zoneOf(t, "Europe/Berlin")
	var log bytes.Buffer
	svc := f.reopen(t, berlin, &log)
	if s := log.String(); !strings.Contains(s, "Asia/Shanghai") || !strings.Contains(s, "Europe/Berlin") {
		t.Errorf("log: %s", s)
	}
	f.checkStatistics(t, berlin)
	now := f.clock.unix.Load()
	if a := f.call(statisticsGet, params{"Stime": now, "Etime": now}); a.Status != network.StatusInternal {
		t.Errorf("reading by other days: Status %d", a.Status)
	}
	before := f.number(`SELECT last_change FROM counters`)
	if err := sim.Step(t.Context(), 50); err == nil || !strings.Contains(err.Error(), "another time zone") {
		t.Errorf("writing by other days: %v", err)
	}
	if f.number(`SELECT last_change FROM counters`) != before {
		t.Error("orders have changed without their statistics")
	}
	again, err := svc.Simulator(network.SimulatorConfig{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	step(t, again, 50)
	f.checkStatistics(t, berlin)

	log.Reset()
	f.reopen(t, berlin, &log)
	f.reopen(t, nil, &log) // the zone of the database
	if log.Len() > 0 {
		t.Errorf("the same zone: %s", log.String())
	}
	f.checkStatistics(t, berlin)
}

// A zone of the database that this machine does not know is not guessed.
func TestUnknownTimeZone(t *testing.T) {
	f := open(t, func(c *network.Config) { c.TimeZone = time.FixedZone("of our own", 3600) })
	_, err := network.Open(context.Background(), network.Config{DB: f.db})
	var e *network.ConfigError
	if !errors.As(err, &e) || e.Field != "TimeZone" {
		t.Errorf("%v", err)
	}
}
