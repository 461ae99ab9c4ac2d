package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// takeoverLimit is how long an account may stand still when its process dies.
const takeoverLimit = 10 * time.Second

// natsServer runs a server beside the test and returns its address.
func natsServer(tb testing.TB) string {
	tb.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: tb.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	go s.Start()
	tb.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(30 * time.Second) {
		tb.Fatal("the server does not start")
	}
	return s.ClientURL()
}

func (p *process) pid() string { return fmt.Sprint("process ", p.cmd.Process.Pid) }

// Two processes share the work of one account. The one that polls is killed: the
// other polls within ten seconds, and every order's versions go on without a gap.
func TestStandby(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	var dead atomic.Bool
	hook := newHook(t)
	w := newWorld(t, worldConfig{
		orders: 2_000, yaml: fmt.Sprintf("nats: {url: '%s'}\n", natsServer(t)) + hook.yaml(),
		handler: func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if dead.Load() {
					select {
					case asked <- struct{}{}:
					default:
					}
				}
				h.ServeHTTP(rw, r)
			})
		},
	})
	first := launch(t, "run", "-c", w.config)
	for _, work := range []string{"account=main", "sink=archive", "sink=commission", "endpoint=partner"} {
		first.log.await(t, "this process does the work now\" "+work)
	}
	second := launch(t, "run", "-c", w.config)
	second.log.await(t, "line is running")
	if out := succeed(t, "status", "-c", w.config); strings.Count(out, first.pid()+",") != 4 {
		t.Errorf("status before:\n%s", out)
	}
	w.step(t, 200)

	first.kill()
	dead.Store(true)
	killed := time.Now()
	w.step(t, 200)
	select {
	case <-asked:
	case <-time.After(2 * takeoverLimit):
		t.Fatal("nobody polls")
	}
	took := time.Since(killed)
	t.Logf("the other process polls %s after the first was killed", took.Round(time.Millisecond))
	if took > takeoverLimit {
		t.Errorf("taken over after %s", took)
	}
	for _, work := range []string{"account=main", "sink=archive", "sink=commission", "endpoint=partner"} {
		second.log.await(t, "this process does the work now\" "+work)
	}
	if out := succeed(t, "status", "-c", w.config); strings.Count(out, second.pid()+",") != 4 {
		t.Errorf("status after:\n%s", out)
	}

	_, errs, code := orderwire(t, "", "run", "-c", w.config, "--once")
	if code != 0 || strings.Count(errs, "another process does this work, it is left to that one") != 4 || !strings.Contains(errs, second.pid()) {
		t.Errorf("--once beside a process that works: exit code %d\n%s", code, errs)
	}
	w.step(t, 200)
	second.terminate(t)
	begun := time.Now()
	succeed(t, "run", "-c", w.config, "--once")
	t.Logf("--once after a clean end took %s", time.Since(begun).Round(time.Millisecond))
	if got := len(w.agree(t)); got != 2_000 {
		t.Errorf("%d orders", got)
	}
	hook.check(t, w.events(t))
}

// check prints what a run would change, and refuses as a run would.
func TestCheckPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 20, yaml: fmt.Sprintf("nats: {url: '%s'}\n", natsServer(t))})
	out := succeed(t, "check", "-c", w.config)
	if !strings.Contains(out, "nats: the next run sets up stream ORDERS: new\n") {
		t.Error(out)
	}
	succeed(t, "run", "-c", w.config, "--once")
	if out = succeed(t, "check", "-c", w.config); strings.Contains(out, "sets up") {
		t.Error(out)
	}
	w.replace(t, "nats: {", "nats: {max_age: 90d, ")
	if out = succeed(t, "check", "-c", w.config); !strings.Contains(out, "nats: the next run sets up stream ORDERS: max_age 0 -> 2160h\n") {
		t.Error(out)
	}
	w.replace(t, "nats: {", "nats: {max_messages: 5, ")
	for _, command := range [][]string{{"check"}, {"run", "--once"}} {
		_, errs, code := orderwire(t, "", append(command, "-c", w.config)...)
		if code != 1 || !strings.Contains(errs, "would delete the oldest 15 of 20 messages") {
			t.Errorf("%s: exit code %d\n%s", command[0], code, errs)
		}
	}
	w.replace(t, "nats: {", "nats: {allow_data_loss: true, ")
	succeed(t, "run", "-c", w.config, "--once")
	if got := len(w.events(t)); got != 5 {
		t.Errorf("%d events are left", got)
	}
	if files := parquetFiles(t, filepath.Join(w.dir, "data", "archive")); len(files) == 0 {
		t.Error("no archive")
	}
}
