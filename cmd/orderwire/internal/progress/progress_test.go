package progress

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestLogLines(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	m := New(&out, slog.New(slog.NewTextHandler(&log, nil)), "verify", "rows")
	for second := range int64(26) {
		m.now = func() time.Time { return m.began.Add(time.Duration(second) * time.Second) }
		m.Step(second*100, 4000)
	}
	m.Close()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "msg=verify done=1000 total=4000 unit=rows per_second=100 left=30s") ||
		!strings.Contains(lines[1], "done=2000 total=4000 unit=rows per_second=100 left=20s") {
		t.Errorf("log lines %q", lines)
	}
	if out.Len() != 0 {
		t.Errorf("drawn where there is no terminal: %q", out.String())
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := New(&out, slog.New(slog.DiscardHandler), "verify", "rows")
	m.onTerm = true
	m.Step(10, 40)
	if got := out.String(); !strings.Contains(got, "verify") || !strings.Contains(got, "25%") || !strings.Contains(got, "10/40") {
		t.Errorf("bar %q", got)
	}
	m.Close()
}
