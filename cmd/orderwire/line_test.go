package main_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// The whole line in two processes: 20,000 orders, each created once; 5,000 of
// them moved, and after two more polls the log, the archive, the report and the
// network agree.
func TestWholeLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 20_000})
	succeed(t, "run", "-c", w.config, "--once")
	if got := len(w.agree(t)); got != 20_000 {
		t.Fatalf("%d orders", got)
	}
	w.step(t, 5_000)
	succeed(t, "run", "-c", w.config, "--once")
	succeed(t, "run", "-c", w.config, "--once")
	moved := 0
	for _, e := range w.agree(t) {
		if e.Data.Version == 2 {
			moved++
		}
	}
	if moved != 5_000 {
		t.Errorf("%d orders have a second version, want 5000", moved)
	}
}

// The same with the process killed at ten random moments, while the simulator
// moves the orders.
func TestKilledTenTimes(t *testing.T) {
	t.Parallel()
	hook := newHook(t)
	w := newWorld(t, worldConfig{orders: 20_000, yaml: hook.yaml()})
	dice := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 10 {
		p := launch(t, "run", "-c", w.config)
		p.log.await(t, "line is running")
		w.step(t, 500)
		moment := time.Duration(dice.IntN(1500)) * time.Millisecond
		select {
		case <-time.After(moment): // the moment is the test's own choice; nothing is waited for
		case <-p.done:
			t.Fatal("the process ended by itself")
		}
		p.kill()
	}
	succeed(t, "run", "-c", w.config, "--once")
	succeed(t, "run", "-c", w.config, "--once")
	if got := len(w.agree(t)); got != 20_000 {
		t.Fatalf("%d orders", got)
	}
	hook.check(t, w.events(t))
}

// One request in five fails: the result is the same, only later.
func TestFaultyNetwork(t *testing.T) {
	t.Parallel()
	var faults *network.Faults
	w := newWorld(t, worldConfig{
		orders: 3_000, poll: ", timeout: 1s, max_attempts: 12, page_size: 25",
		handler: func(h http.Handler) http.Handler {
			f, err := network.NewFaults(h, network.FaultsConfig{Rate: 0.2, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			faults = f
			return f
		},
	})
	t.Cleanup(faults.Close)
	succeed(t, "run", "-c", w.config, "--once")
	w.step(t, 500)
	succeed(t, "run", "-c", w.config, "--once")
	counts := faults.Counts()
	for _, kind := range []network.Fault{
		network.FaultServerError, network.FaultTooMany, network.FaultHalfJSON, network.FaultHTML, network.FaultBusy, network.FaultHang,
	} {
		if counts[kind] == 0 {
			t.Errorf("no %s came up: %v", kind, counts)
		}
	}
	w.server.Config.Handler = w.service.Handler() // the check itself asks a sound network
	if got := len(w.agree(t)); got != 3_000 {
		t.Errorf("%d orders", got)
	}
}

// An account with a wrong secret does not stop the other, and is reported in
// plain words.
func TestOneAccountRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 500})
	more := fmt.Sprintf("  - {name: wrong, base_url: %s, app_key: '%s', app_secret: not-it, poll: {every: 300ms}}\narchive:", w.server.URL, testKey)
	w.replace(t, "archive:", more)
	_, errs, code := orderwire(t, "", "run", "-c", w.config, "--once")
	if code != 1 || !strings.Contains(errs, "orderwire: account wrong:") || !strings.Contains(strings.ToLower(errs), "signature") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if got := len(w.agree(t)); got != 500 {
		t.Errorf("%d orders", got)
	}
	p := launch(t, "run", "-c", w.config)
	p.log.await(t, "account=wrong")
	w.step(t, 50)
	p.terminate(t)
	_, errs, code = orderwire(t, "", "check", "-c", w.config)
	if code != 1 || !strings.Contains(errs, "account wrong: the network refuses the key") || strings.Contains(errs, "account main") {
		t.Errorf("check: exit code %d\n%s", code, errs)
	}
}

// SIGTERM while a page is under way: the network has the request and has not
// answered.
func TestTerminatedInTheMiddleOfAPage(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	w := newWorld(t, worldConfig{orders: 100, handler: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client is gone
			once()
			<-r.Context().Done()
		})
	}})
	p := launch(t, "run", "-c", w.config)
	<-asked
	p.terminate(t)
}

// SIGTERM while batches are published: what was begun is whole or absent, and
// the next start goes on.
func TestTerminatedInTheMiddleOfABatch(t *testing.T) {
	t.Parallel()
	var requests sync.WaitGroup
	requests.Add(12)
	seen := 0
	var mu sync.Mutex
	w := newWorld(t, worldConfig{orders: 5_000, handler: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(rw, r)
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen <= 12 {
				requests.Done()
			}
		})
	}})
	p := launch(t, "run", "-c", w.config)
	requests.Wait()
	p.terminate(t)
	checkVersions(t, w.events(t))
	succeed(t, "run", "-c", w.config, "--once")
	if got := len(w.agree(t)); got != 5_000 {
		t.Errorf("%d orders", got)
	}
}

// events works beside a running process, and follows it.
func TestEventsBesideARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 200})
	p := launch(t, "run", "-c", w.config)
	p.log.await(t, "line is running")
	follow := launchOut(t, "events", "-c", w.config, "-o", "json", "--follow")
	follow.await(t, 200)
	w.step(t, 20)
	follow.await(t, 220)
	if got := len(checkVersions(t, w.events(t))); got != 200 {
		t.Errorf("%d orders", got)
	}
	p.kill()
	p = launch(t, "run", "-c", w.config)
	p.log.await(t, "line is running")
	w.step(t, 20)
	follow.await(t, 240)
	p.terminate(t)
}

// events that begins while the process that keeps the log ends still lists
// everything.
func TestEventsWhileARunEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 300})
	succeed(t, "run", "-c", w.config, "--once")
	for range 3 {
		p := launch(t, "run", "-c", w.config)
		p.log.await(t, "line is running")
		var ended sync.WaitGroup
		ended.Go(func() { p.terminate(t) })
		if got := len(w.events(t)); got != 300 {
			t.Errorf("%d events", got)
		}
		ended.Wait()
	}
}
