package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/sinks/archive"
)

// What the running pipeline has written is proved against its log, and damage
// is named with exit code 1.
func TestVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 300})
	for range 2 { // two commits at least
		succeed(t, "run", "-c", w.config, "--once")
		w.step(t, 100)
	}
	events := w.events(t)

	var v archive.Verification
	if err := json.Unmarshal([]byte(succeed(t, "verify", "-c", w.config, "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	if n := int64(len(events)); n < 300 || v.Compared != n || v.Rows != n || v.Gone != 0 || v.Last != uint64(n) || v.Commits < 2 {
		t.Errorf("%d events in the log, verified %+v", n, v)
	}
	table := succeed(t, "verify", "-c", w.config, "--without-log")
	if !strings.Contains(table, "not compared with the log") || !strings.Contains(table, "findings  0") {
		t.Errorf("table\n%s", table)
	}

	dir := filepath.Join(w.dir, "data", "archive")
	file := parquetFiles(t, dir)[0]
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(dir, file)
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := orderwire(t, "", "verify", "-c", w.config)
	if code != 1 || !strings.Contains(out, "damaged-file  "+name+": has been changed") ||
		!strings.Contains(out, "missing-events  ") || !strings.Contains(errs, "is not sound: findings: 2") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestVerifyWithoutALog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 20})
	succeed(t, "run", "-c", w.config, "--once")
	kept := filepath.Join(w.dir, "kept")
	if err := os.Rename(filepath.Join(w.dir, "data", "archive"), kept); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "data")); err != nil {
		t.Fatal(err)
	}
	out, _, code := orderwire(t, "", "verify", "-c", w.config, "--archive", kept)
	if code != 1 || !strings.Contains(out, "bad-log  log: ") || !strings.Contains(out, "findings  1") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	succeed(t, "verify", "-c", w.config, "--archive", "file://"+kept, "--without-log")
}

func TestVerifyUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--archive", "ftp://there/archive"}, 2, `places of kind "ftp"`},
		{[]string{"-o", "xml"}, 2, `no output form "xml"`},
		{[]string{"more"}, 2, `verify takes no argument "more"`},
		{[]string{"--archive", filepath.Join(w.dir, "none")}, 1, "no archive is there"},
	} {
		_, errs, code := orderwire(t, "", append([]string{"verify", "-c", w.config}, tt.args...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("verify %v: exit code %d\n%s", tt.args, code, errs)
		}
	}
}
