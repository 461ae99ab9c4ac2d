package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// serverVariable makes this test binary an embedded server on a directory.
const serverVariable = "ORDERWIRE_TEST_SERVER"

// serve runs an embedded server until its standard input ends.
func serve(dir string) {
	e, err := jetstream.StartEmbedded(context.Background(), jetstream.EmbeddedConfig{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, e.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = e.Close()
}

// serverProcess starts an embedded server in a process of its own, so that what
// it does is not taken for the work of the test, and returns its address.
func serverProcess(tb testing.TB, dir string) (url string) {
	tb.Helper()
	url, stop := startServer(tb, dir)
	tb.Cleanup(stop)
	return url
}

// startServer is serverProcess for who stops it before the end of the test.
func startServer(tb testing.TB, dir string) (url string, stop func()) {
	tb.Helper()
	cmd := exec.Command(os.Args[0]) // it ends with its input
	cmd.Env = append(os.Environ(), serverVariable+"="+dir)
	cmd.Stderr = tb.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		tb.Fatalf("the server did not start: %v", err)
	}
	return strings.TrimSpace(line), stop
}
