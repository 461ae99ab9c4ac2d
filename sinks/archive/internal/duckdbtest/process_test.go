package duckdbtest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the file of orderwire, built once for all tests.
func program(tb testing.TB) string {
	tb.Helper()
	file, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

var built = sync.OnceValues(func() (string, error) {
	file := filepath.Join(workDir, "orderwire")
	build := exec.Command("go", "build", "-o", file, "./cmd/orderwire")
	build.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
})

// workDir holds what all tests share.
var workDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "duckdbtest")
	if err != nil {
		panic(err)
	}
	workDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// succeed runs a command that has to end with exit code 0.
func succeed(tb testing.TB, name string, args ...string) {
	tb.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		tb.Fatalf("orderwire %s: %v\n%s", strings.Join(args, " "), err, &errs)
	}
}

// process is a command that runs beside the test.
type process struct {
	cmd   *exec.Cmd
	lines chan string   // what it logs; closed when it has ended
	done  chan struct{} // closed when it has been waited for

	mu     sync.Mutex
	faults []string // lines that it logged as errors
}

// launch starts a command. It is killed at the end of the test.
func launch(tb testing.TB, name string, args ...string) *process {
	tb.Helper()
	p := &process{cmd: exec.Command(name, args...), lines: make(chan string, 1000), done: make(chan struct{})}
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.done)
		for s := bufio.NewScanner(pipe); s.Scan(); {
			p.take(s.Text())
		}
		close(p.lines)
		_ = p.cmd.Wait()
	}()
	tb.Cleanup(p.kill)
	return p
}

func (p *process) take(line string) {
	if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "orderwire: ") {
		p.mu.Lock()
		p.faults = append(p.faults, line)
		p.mu.Unlock()
	}
	select {
	case p.lines <- line:
	default: // nobody awaits a line any more
	}
}

// sound fails the test if the process has logged an error.
func (p *process) sound(tb testing.TB) {
	tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) > 0 {
		tb.Fatalf("the process says:\n%s", strings.Join(p.faults, "\n"))
	}
}

// kill ends the process with SIGKILL and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// await returns the next line that holds a text.
func (p *process) await(tb testing.TB, text string) string {
	tb.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				tb.Fatalf("the process ended without %q", text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			tb.Fatalf("no line with %q", text)
		}
	}
}

// terminate sends SIGTERM and waits for a clean end.
func (p *process) terminate(tb testing.TB) {
	tb.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		tb.Fatal("still running after SIGTERM")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		tb.Errorf("exit code %d after SIGTERM", code)
	}
}

// finish waits for a process that ends by itself, without an error.
func (p *process) finish(tb testing.TB) {
	tb.Helper()
	for ended := false; !ended; {
		select {
		case _, more := <-p.lines:
			ended = !more
			p.sound(tb)
		case <-time.After(10 * time.Minute):
			tb.Fatal("the process does not end")
		}
	}
	<-p.done
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		tb.Fatalf("exit code %d", code)
	}
}
