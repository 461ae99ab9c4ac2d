package main_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/sinks/archive"
)

// longAgo puts created orders n to n+count of two days that have ended into the log.
func longAgo(tb testing.TB, l *jetstream.Log, n, count int) {
	tb.Helper()
	var batch []*message.Message
	for i := range count {
		e := pipelinetest.Event("main", n+i, 1)
		e.Data.ObservedAt = time.Date(2020, 5, 30+i%2, 12, 0, 0, 0, time.UTC)
		e.Time = e.Data.ObservedAt
		m, err := pipeline.NewMessage(&e, 0, 0)
		if err != nil {
			tb.Fatal(err)
		}
		batch = append(batch, m)
	}
	if err := l.Publisher().Publish(pipeline.Topic, batch...); err != nil {
		tb.Fatal(err)
	}
}

// oldWorld has a log of events of such days, which the program has archived in
// three commits of two days each.
func oldWorld(tb testing.TB) (*world, *jetstream.Log) {
	tb.Helper()
	server := pipelinetest.Server(tb, tb.TempDir())
	w := newWorld(tb, worldConfig{yaml: fmt.Sprintf("nats: {url: %q}\n", server.URL())})
	l := pipelinetest.Log(tb, server.URL())
	for i := range 3 {
		longAgo(tb, l, 10*i, 10)
		succeed(tb, "run", "-c", w.config, "--only", "archive", "--once")
	}
	return w, l
}

func compact(tb testing.TB, args ...string) archive.Compaction {
	tb.Helper()
	var c archive.Compaction
	out := succeed(tb, append([]string{"archive", "compact", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		tb.Fatal(err)
	}
	return c
}

// The program merges what the pipeline has written, and verify holds it against
// the log.
func TestArchiveCompact(t *testing.T) {
	t.Parallel()
	w, _ := oldWorld(t)
	dir := filepath.Join(w.dir, "data", "archive")
	plan := compact(t, "-c", w.config, "--dry-run")
	if plan.Partitions != 2 || plan.FilesBefore != 6 || plan.FilesAfter != 2 || plan.Events != 30 || plan.BytesAfter != 0 {
		t.Errorf("would do %+v", plan)
	}
	if n := len(parquetFiles(t, dir)); n != 6 {
		t.Errorf("%d files behind a dry run", n)
	}
	if table := succeed(t, "archive", "compact", "-c", w.config, "--dry-run", "--account", "other"); table != "nothing to merge\n" {
		t.Errorf("table\n%s", table)
	}
	table := succeed(t, "archive", "compact", "-c", w.config, "--size", "4MiB", "--closed-for", "24h")
	if !strings.Contains(table, "merged  6 files of 2 partitions into 2\n") || !strings.Contains(table, "events  30\n") {
		t.Errorf("table\n%s", table)
	}
	if n := len(parquetFiles(t, dir)); n != 2 {
		t.Errorf("%d files", n)
	}
	succeed(t, "verify", "-c", w.config)
	if again := compact(t, "-c", w.config, "--archive", "file://"+dir); again != (archive.Compaction{}) {
		t.Errorf("done again %+v", again)
	}
	if table := succeed(t, "archive", "compact", "-c", w.config, "--closed-for", "8760h"); table != "nothing merged\n" {
		t.Errorf("table\n%s", table)
	}
}

// Beside a running archive everything stays there once.
func TestArchiveCompactBesideRun(t *testing.T) {
	t.Parallel()
	w, l := oldWorld(t)
	p := launch(t, "run", "-v", "-c", w.config, "--only", "archive")
	for i := range 3 {
		longAgo(t, l, 100+10*i, 10)
		compact(t, "-c", w.config)
	}
	p.log.await(t, "last=60")
	p.terminate(t)
	if c := compact(t, "-c", w.config); c.FilesAfter != 2 {
		t.Errorf("done %+v", c)
	}
	var v archive.Verification
	if err := json.Unmarshal([]byte(succeed(t, "verify", "-c", w.config, "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Compared != 60 || v.Files != 2 {
		t.Errorf("verified %+v", v)
	}
}

func TestArchiveCompactUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--archive", "ftp://there/archive"}, 2, `places of kind "ftp"`},
		{[]string{"--size", "many"}, 2, `--size: "many" is no size; write 128MiB or 1GB`},
		{[]string{"--size", "0"}, 2, "must be more than 0"},
		{[]string{"--size", "1KiB"}, 2, "size: is not between 1 MiB and 4 GiB"},
		{[]string{"--closed-for", "-1h"}, 2, "must be more than 0"},
		{[]string{"--closed-for", "soon"}, 2, `invalid argument "soon"`},
		{[]string{"-o", "xml"}, 2, `no output form "xml"`},
		{[]string{"more"}, 2, `compact takes no argument "more"`},
		{nil, 1, "no archive is there"},
	} {
		_, errs, code := orderwire(t, "", append([]string{"archive", "compact", "-c", w.config}, tt.args...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("compact %v: exit code %d\n%s", tt.args, code, errs)
		}
	}
	if out := succeed(t, "archive"); !strings.Contains(out, "compact") {
		t.Errorf("help\n%s", out)
	}
	if _, errs, code := orderwire(t, "", "archive", "shrink"); code != 2 || !strings.Contains(errs, "shrink") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// The README's example merges and proves.
func TestReadmeCompact(t *testing.T) {
	t.Parallel()
	w, _ := oldWorld(t)
	out := shell(t, w.dir, examples(t)["compact"])
	for _, want := range []string{"would merge  6 files of 2 partitions into 2\n", "\nmerged  6 files of 2 partitions into 2\n", "findings  0\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
