package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// A snapshot of what the running pipeline has archived holds the last event that
// the log has of each order, now and as of a sequence.
func TestArchiveSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 300})
	for range 2 { // two commits at least
		succeed(t, "run", "-c", w.config, "--once")
		w.step(t, 100)
	}
	events := w.events(t) // the sequence is the place, from 1
	half := len(events) - 40

	table := succeed(t, "archive", "snapshot", "-c", w.config, "--to", filepath.Join(w.dir, "now"))
	last := lastEvents(events)
	if !strings.Contains(table, fmt.Sprintf("as of         sequence %d\n", len(events))) || !strings.Contains(table, fmt.Sprintf("orders        %d, 0 of", len(last))) {
		t.Errorf("table\n%s", table)
	}
	sameStates(t, filepath.Join(w.dir, "now"), last)

	var report archive.SnapshotReport
	then := filepath.Join(w.dir, "then")
	out := succeed(t, "archive", "snapshot", "-c", w.config, "--to", "file://"+then, "--sequence", fmt.Sprint(half), "-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	last = lastEvents(events[:half])
	sameStates(t, then, last)
	if report.Orders != int64(len(last)) || report.Last != uint64(half) || report.Later != 40 || len(lastEvents(events)) == half {
		t.Errorf("%d orders, report %s", len(last), out)
	}
	if described, err := os.ReadFile(filepath.Join(then, "_orderwire", "snapshot.json")); err != nil || string(described) != out {
		t.Errorf("the descriptor is %s, %v", described, err)
	}

	_, errs, code := orderwire(t, "", "archive", "snapshot", "-c", w.config, "--to", filepath.Join(w.dir, "future"), "--at", "2999-01-01")
	if code != 0 || !strings.Contains(errs, "not archived yet") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	_, errs, code = orderwire(t, "", "archive", "snapshot", "-c", w.config, "--to", then)
	if code != 1 || !strings.Contains(errs, "something is there already") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func lastEvents(events []schema.Event) map[schema.OrderKey]string {
	last := map[schema.OrderKey]string{}
	for i := range events {
		last[events[i].Key()] = events[i].ID
	}
	return last
}

func sameStates(t *testing.T, dir string, want map[schema.OrderKey]string) {
	t.Helper()
	n := 0
	for _, name := range parquetFiles(t, dir) {
		for row, err := range archive.ReadFile(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := row.Event()
			if err != nil {
				t.Fatal(err)
			}
			if n++; want[e.Key()] != e.ID {
				t.Errorf("order %s is at version %d", e.Key(), e.Data.Version)
			}
		}
	}
	if n != len(want) {
		t.Errorf("%d rows of %d orders", n, len(want))
	}
}

func TestArchiveSnapshotUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 5})
	succeed(t, "run", "-c", w.config, "--once")
	to := filepath.Join(w.dir, "set")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "--to is missing"},
		{[]string{"--to", to, "--at", "yesterday"}, 2, `--at: "yesterday" is no time`},
		{[]string{"--to", to, "--at", "2026-11-01", "--sequence", "3"}, 2, "at: and sequence are both given"},
		{[]string{"--to", to, "--sequence", "0"}, 2, "the first sequence is 1"},
		{[]string{"--to", to, "--sequence", "1000"}, 2, "the archive ends at"},
		{[]string{"--to", "ftp://there"}, 2, `--to: places of kind "ftp"`},
		{[]string{"--to", "s3://bucket/prefix?key=1"}, 2, "--to: "},
		{[]string{"--to", to, "--account", "other"}, 2, `account: "other" is not in the archive; it holds main`},
		{[]string{"--to", filepath.Join(w.dir, "data", "archive", "set")}, 2, "lies in the archive"},
		{[]string{"--to", to, "--archive", filepath.Join(w.dir, "none")}, 1, "no archive is there"},
		{[]string{"--to", to, "-o", "xml"}, 2, `no output form "xml"`},
		{[]string{"--to", to, "more"}, 2, `snapshot takes no argument "more"`},
	} {
		_, errs, code := orderwire(t, "", append([]string{"archive", "snapshot", "-c", w.config}, tt.args...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("snapshot %v: exit code %d\n%s", tt.args, code, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "_orderwire")); err == nil {
		t.Error("something is left behind")
	}
	if _, errs, code := orderwire(t, "", "archive", "burn"); code != 2 || !strings.Contains(errs, `no command "burn"`) {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
