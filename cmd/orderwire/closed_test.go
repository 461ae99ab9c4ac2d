package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The place of the archive cannot be used when the program starts: it polls and
// keeps its books all the same, says so, and archives when the place is there.
func TestArchiveThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 200, yaml: "http: {listen: 127.0.0.1:0}\n"})
	disk := filepath.Join(w.dir, "disk")
	if err := os.WriteFile(disk, nil, 0o600); err != nil { // not mounted, in a manner of speaking
		t.Fatal(err)
	}
	w.replace(t, "archive: {", "archive: {url: '"+filepath.Join(disk, "archive")+"', ")
	_, errs, code := orderwire(t, "", "run", "-c", w.config, "--once")
	if code != 1 || !strings.Contains(errs, "orderwire: sink archive: archive: cannot") || !strings.Contains(errs, disk) {
		t.Errorf("--once: exit code %d\n%s", code, errs)
	}
	if got := len(w.events(t)); got != 200 {
		t.Errorf("--once left %d events in the log", got)
	}

	p := launch(t, "run", "-c", w.config)
	if line := p.log.await(t, "work cannot begin"); !strings.Contains(line, "sink=archive") || !strings.Contains(line, disk) {
		t.Error(line)
	}
	_, url, _ := strings.Cut(p.log.await(t, "status service"), "url=")
	if s := sinkStatus(t, url, "archive"); !s.Closed || !strings.Contains(s.Failure, disk) {
		t.Errorf("status %+v", s)
	}
	if s := sinkStatus(t, url, "commission"); s.Closed {
		t.Errorf("status %+v", s)
	}
	if err := os.Remove(disk); err != nil {
		t.Fatal(err)
	}
	p.log.await(t, "work begins now\" sink=archive")
	if s := sinkStatus(t, url, "archive"); s.Closed {
		t.Errorf("status %+v", s)
	}
	p.terminate(t)
	succeed(t, "run", "-c", w.config, "--once")
	succeed(t, "verify", "-c", w.config)
}

// standing is what the test reads of a sink's status.
type standing struct {
	Name    string `json:"name"`
	Closed  bool   `json:"closed"`
	Failure string `json:"failure"`
}

func sinkStatus(tb testing.TB, url, name string) standing {
	tb.Helper()
	answer, err := http.Get(strings.TrimSpace(url))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var all struct {
		Sinks []standing `json:"sinks"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		tb.Fatal(err)
	}
	for _, s := range all.Sinks {
		if s.Name == name {
			return s
		}
	}
	tb.Fatalf("no sink %s in %+v", name, all)
	return standing{}
}
