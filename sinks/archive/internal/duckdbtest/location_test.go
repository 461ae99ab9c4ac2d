package duckdbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/orderwire/orderwire/sinks/archive/internal/gatewaytest"
)

// location is where a program under test has its archive.
type location struct {
	url     string // as it is configured
	folder  string // where its files are on this machine
	changes int    // in its own folder's files for a commit, roughly
	gateway *gatewaytest.Gateway
}

func onDisk(tb testing.TB) location {
	dir := tb.TempDir()
	return location{url: dir, folder: dir, changes: 20}
}

// inBucket starts a store of the test's own.
func inBucket(tb testing.TB) location {
	tb.Helper()
	if os.Getenv(gatewaytest.Variable) == "" {
		tb.Skipf("%s names no versitygw", gatewaytest.Variable)
	}
	for key, value := range gatewaytest.Environment() {
		if err := os.Setenv(key, value); err != nil { //nolint:usetesting // for started programs, of tests side by side; alike for each store
			tb.Fatal(err)
		}
	}
	g, err := gatewaytest.Start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close() })
	return location{url: g.Address("orders"), folder: filepath.Join(g.Folder(), "orders"), changes: 4, gateway: g}
}

// configure writes a configuration of an archiver and returns its file. An empty
// address of the log is for an embedded one.
func (at location) configure(tb testing.TB, log, settings string) string {
	tb.Helper()
	dir := tb.TempDir()
	return at.configureIn(tb, dir, log, settings)
}

func (at location) configureIn(tb testing.TB, dir, log, settings string) string {
	tb.Helper()
	file := filepath.Join(dir, "orderwire.yaml")
	text := fmt.Sprintf("data_dir: %q\nnats: {url: %q}\narchive: {url: %q, %s}\n", dir, log, at.url, settings)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// verify runs orderwire verify. It looks at the files of a store in their folder.
func (at location) verify(tb testing.TB, config string) {
	tb.Helper()
	succeed(tb, program(tb), "verify", "-c", config, "--archive", at.folder)
}
