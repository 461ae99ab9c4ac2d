package duckdbtest

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program builds orderwire and returns its file.
func program(tb testing.TB) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "orderwire")
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", file, "./cmd/orderwire")
	build.Dir = filepath.Join("..", "..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	return file
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
			select {
			case p.lines <- s.Text():
			default: // nobody awaits a line any more
			}
		}
		close(p.lines)
		_ = p.cmd.Wait()
	}()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
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
