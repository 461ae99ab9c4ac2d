package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// stopLimit is how long a process may take to end after SIGTERM.
const stopLimit = 10 * time.Second

// tags are the build tags of the program under test, those of the tests.
var tags string

// binary is the program under test, built by TestMain.
var binary string

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverVariable); dir != "" {
		serve(dir)
		return
	}
	if addresses := os.Getenv(bareVariable); addresses != "" {
		bareClient(addresses)
		return
	}
	dir, err := os.MkdirTemp("", "orderwire")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "orderwire")
	build := exec.Command("go", "build", "-tags", tags, "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// orderwire runs a command to its end and returns what it printed.
func orderwire(tb testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// succeed runs a command that has to end with exit code 0.
func succeed(tb testing.TB, args ...string) string {
	tb.Helper()
	out, errs, code := orderwire(tb, "", args...)
	if code != 0 {
		tb.Fatalf("orderwire %s: exit code %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out
}

// process is a command that runs beside the test.
type process struct {
	cmd  *exec.Cmd
	log  *lines
	done chan struct{} // closed when it has ended
}

// launch starts a command. It is killed at the end of the test.
func launch(tb testing.TB, args ...string) *process {
	tb.Helper()
	p := &process{cmd: exec.Command(binary, args...), log: newLines(tb.Output()), done: make(chan struct{})}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	tb.Cleanup(p.kill)
	return p
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// terminate sends SIGTERM and holds the process to a clean and timely end.
func (p *process) terminate(tb testing.TB) {
	tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		tb.Fatalf("still running %s after SIGTERM", stopLimit)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		tb.Errorf("exit code %d after SIGTERM", code)
	}
}

// lines keeps what a process logs, and lets a test wait for a text in it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
	copy io.Writer
}

func newLines(to io.Writer) *lines { return &lines{more: make(chan struct{}), copy: to} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	l.text.Write(b)
	return l.copy.Write(b)
}

// await returns the first line that holds a text.
func (l *lines) await(tb testing.TB, text string) string {
	tb.Helper()
	limit := time.After(time.Minute)
	for {
		l.mu.Lock()
		all, more := l.text.String(), l.more
		l.mu.Unlock()
		for s := bufio.NewScanner(strings.NewReader(all)); s.Scan(); {
			if strings.Contains(s.Text(), text) {
				return s.Text()
			}
		}
		select {
		case <-more:
		case <-limit:
			tb.Fatalf("no line with %q in:\n%s", text, all)
		}
	}
}

// world is a network in this process and a configuration that polls it.
type world struct {
	service *network.Service
	sim     *network.Simulator
	server  *httptest.Server
	dir     string
	config  string
}

// worldConfig says how a world differs from the usual one.
type worldConfig struct {
	orders  int64
	handler func(http.Handler) http.Handler // around the service, nil for nothing
	yaml    string                          // more configuration
	poll    string                          // more settings of the poll
}

const (
	testKey    = "2312521"
	testSecret = "s3cr3t"
)

func newWorld(tb testing.TB, c worldConfig) *world {
	tb.Helper()
	w := &world{dir: tb.TempDir()}
	var err error
	if w.service, err = network.Open(tb.Context(), network.Config{DB: filepath.Join(w.dir, "network.db")}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.service.Close() })
	publisher := network.Publisher{AppKey: testKey, AppSecret: testSecret, Websites: []string{"1026", "1027"}}
	if err := w.service.AddPublisher(tb.Context(), publisher); err != nil {
		tb.Fatal(err)
	}
	if w.sim, err = w.service.Simulator(network.SimulatorConfig{Seed: 7}); err != nil {
		tb.Fatal(err)
	}
	if err := w.sim.Seed(tb.Context(), c.orders); err != nil {
		tb.Fatal(err)
	}
	handler := w.service.Handler()
	if c.handler != nil {
		handler = c.handler(handler)
	}
	w.server = httptest.NewServer(handler)
	tb.Cleanup(w.server.Close)
	w.config = filepath.Join(w.dir, "orderwire.yaml")
	w.write(tb, c)
	return w
}

func (w *world) write(tb testing.TB, c worldConfig) {
	tb.Helper()
	text := fmt.Sprintf(`data_dir: %q
accounts:
  - name: main
    base_url: %s
    app_key: "%s"
    app_secret: %s
    poll: {every: 300ms, overlap: 1m, backfill: 35d, requests_per_second: 2000%s}
archive: {roll_every: 1s}
%s`, filepath.Join(w.dir, "data"), w.server.URL, testKey, testSecret, c.poll, c.yaml)
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// replace changes the configuration file.
func (w *world) replace(tb testing.TB, old, repl string) {
	tb.Helper()
	text, err := os.ReadFile(w.config)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(w.config, []byte(strings.Replace(string(text), old, repl, 1)), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// output is a running command whose lines are counted.
type output struct {
	lines chan string
	seen  int
}

// launchOut starts a command and reads its standard output line by line.
func launchOut(tb testing.TB, args ...string) *output {
	tb.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Stderr = tb.Output()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	o := &output{lines: make(chan string)}
	go func() {
		defer close(o.lines)
		s := bufio.NewScanner(pipe)
		s.Buffer(nil, 8<<20)
		for s.Scan() {
			o.lines <- s.Text()
		}
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range o.lines { // until the process has ended
		}
		_ = cmd.Wait()
	})
	return o
}

// await reads until n lines have come since the start.
func (o *output) await(tb testing.TB, n int) {
	tb.Helper()
	limit := time.After(time.Minute)
	for o.seen < n {
		select {
		case _, open := <-o.lines:
			if !open {
				tb.Fatalf("the output ended after %d lines of %d", o.seen, n)
			}
			o.seen++
		case <-limit:
			tb.Fatalf("%d lines of %d", o.seen, n)
		}
	}
}

func (w *world) step(tb testing.TB, k int64) {
	tb.Helper()
	if err := w.sim.Step(context.WithoutCancel(tb.Context()), k); err != nil {
		tb.Fatal(err)
	}
}
