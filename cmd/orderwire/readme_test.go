package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sources/network"
)

var example = regexp.MustCompile("(?s)<!-- example: ([a-z-]+) -->\n```sh\n(.*?)```")

// examples returns the shell examples of the README by name.
func examples(tb testing.TB) map[string]string {
	tb.Helper()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		tb.Fatal(err)
	}
	found := make(map[string]string)
	for _, m := range example.FindAllStringSubmatch(string(raw), -1) {
		found[m[1]] = m[2]
	}
	return found
}

// shell runs an example in an empty folder that holds the program. Only the
// build is left out, and the port is one that is free.
func shell(tb testing.TB, dir, script string) string {
	tb.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		tb.Skip("the examples of the README need bash, and this machine has none")
	}
	if err := os.Symlink(binary, filepath.Join(dir, "orderwire")); err != nil {
		tb.Fatal(err)
	}
	script = strings.ReplaceAll(script, "go build -o orderwire ./cmd/orderwire\n", "")
	script = strings.ReplaceAll(script, "127.0.0.1:8090", fmt.Sprintf("127.0.0.1:%d", freePort(tb)))
	cmd := exec.CommandContext(tb.Context(), "bash", "-euc", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"+script)
	cmd.Dir, cmd.Stderr = dir, tb.Output()
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func TestReadmeFirstEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := shell(t, dir, examples(t)["first-events"])
	var documents int
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "{") {
			documents++
			if _, err := schema.ParseEvent([]byte(line)); err != nil {
				t.Errorf("%v: %s", err, line)
			}
		}
	}
	for _, want := range []string{"accepts its key", "order.created", "Approved"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if documents != 1 {
		t.Errorf("%d documents in:\n%s", documents, out)
	}
}

// The replay goes on where the first example ends.
func TestReadmeReplay(t *testing.T) {
	t.Parallel()
	found := examples(t)
	out := shell(t, t.TempDir(), found["first-events"]+found["replay"])
	if !strings.Contains(out, "nothing was sent to commission=./again.db") || !strings.Contains(out, ", 0 of them known before, 0 refused") {
		t.Errorf("no replay in:\n%s", out)
	}
}

// The example of snapshots follows that of the first events.
func TestReadmeSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := shell(t, dir, examples(t)["first-events"]+"\necho NOW\n"+examples(t)["snapshot"])
	_, out, _ = strings.Cut(out, "NOW\n")
	table, document, _ := strings.Cut(out, "{")
	var report archive.SnapshotReport
	if err := json.Unmarshal([]byte("{"+document), &report); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table, "0 of them vanished") || report.Sequence != 500 || report.Last != 500 || report.Orders < 400 {
		t.Errorf("table\n%s\nreport %+v", table, report)
	}
	for _, name := range []string{"states", "then"} {
		if n := len(parquetFiles(t, filepath.Join(dir, name))); n != 1 {
			t.Errorf("%d files in %s", n, name)
		}
	}
}

func TestReadmeSign(t *testing.T) {
	t.Parallel()
	if out := shell(t, t.TempDir(), examples(t)["sign"]); out != "F80590B7456ACD1CBADA8154A8C29D04\n" {
		t.Errorf("got %q", out)
	}
}

// The scripts of the README run against a network that the README sets up.
func TestReadmeNetwork(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"curl", "openssl"} {
		if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing, and CI has to run this test", name)
		} else if err != nil {
			t.Skipf("this machine has no %s, which the scripts need", name)
		}
	}
	scripts, err := filepath.Abs("../../deploy/examples")
	if err != nil {
		t.Fatal(err)
	}
	out := shell(t, t.TempDir(), strings.ReplaceAll(examples(t)["network"], "deploy/examples", scripts))
	if n := strings.Count(out, "done: order "); n != 3 {
		t.Errorf("%d of 3 scripts came to their end:\n%s", n, out)
	}
}

// The README lists the operations of the network's service.
func TestReadmeOperations(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, o := range network.Operations() {
		whose := "spec"
		if o.Ours {
			whose = "ours"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s |", o.Service, o.Side, whose, o.Purpose))
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.HasPrefix(line, "| `service.") || strings.HasPrefix(line, "| `open-service.") {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The README names every configuration key's section, and the example
// configuration can be read.
func TestExampleConfiguration(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/orderwire.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)\}`).FindAllStringSubmatch(string(raw), -1) {
		t.Setenv(m[1], "value-of-"+m[1])
	}
	if _, err := config.Parse("deploy/orderwire.yaml", raw); err != nil {
		t.Error(err)
	}
}
