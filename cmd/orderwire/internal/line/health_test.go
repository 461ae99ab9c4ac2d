package line_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// idle is a line that is open and does not run, with an archive and books in dir,
// and an account that nobody answers.
func idle(tb testing.TB, dir string) *line.Line {
	tb.Helper()
	text := fmt.Sprintf("data_dir: %q\naccounts:\n  - {name: main, base_url: 'http://127.0.0.1:9', app_key: k, app_secret: s, poll: {every: 2m, timeout: 1m}}\n", dir)
	c, err := config.Parse("test.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	l, err := line.Open(tb.Context(), c, []line.Role{line.Poll, line.Archive, line.Commission}, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() }) // parts of it are closed already
	return l
}

func told(all []line.Trouble) string {
	texts := []string{}
	for _, t := range all {
		texts = append(texts, strings.TrimSpace(t.Part+" "+t.Name)+": "+t.Reason)
	}
	return strings.Join(texts, "; ")
}

// Each cause by itself makes a process unready, and is named; none of them needs a
// new start.
func TestReady(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(dir string) error               // the line is opened
		spoil  func(l *line.Line, dir string) error // what is wrong then
		want   string
	}{
		{name: "all is well"},
		{
			name: "an account just not stuck", spoil: func(l *line.Line, _ string) error {
				l.SetClock(func() time.Time { return time.Now().Add(19 * time.Minute) })
				return nil
			},
		},
		{
			name: "an account is stuck", spoil: func(l *line.Line, _ string) error {
				l.SetClock(func() time.Time { return time.Now().Add(21 * time.Minute) })
				return nil
			}, want: "account main: nothing was read to its end for 21m0s",
		},
		{
			name: "the archive is gone", spoil: func(_ *line.Line, dir string) error {
				return os.Rename(filepath.Join(dir, "archive"), filepath.Join(dir, "elsewhere"))
			}, want: "sink archive: its place does not answer",
		},
		{
			name:   "the archive cannot be opened",
			before: func(dir string) error { return os.WriteFile(filepath.Join(dir, "archive"), []byte("a file"), 0o600) },
			want:   "sink archive: its place cannot be opened",
		},
		{
			name: "the books are gone", spoil: func(l *line.Line, _ string) error { return l.CloseBooks() },
			want: "sink commission: its place does not answer",
		},
		{
			name: "the log is gone", spoil: func(l *line.Line, _ string) error { return l.Disconnect() },
			want: "log: does not answer",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.before != nil {
				if err := tt.before(dir); err != nil {
					t.Fatal(err)
				}
			}
			l := idle(t, dir)
			if tt.spoil != nil {
				if err := tt.spoil(l, dir); err != nil {
					t.Fatal(err)
				}
			}
			if got := told(l.Ready(t.Context())); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if dead := l.Alive(t.Context()); len(dead) > 0 {
				t.Errorf("it is not alive: %s", told(dead))
			}
		})
	}
}

// A sink that takes no events is not ready, and it is alive: it tries again.
func TestReadyOfASinkThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := idle(t, dir)
	if err := l.CloseBooks(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	awaitReady(t, l, "sink commission: takes no events", 10*time.Second)
	if dead := told(l.Alive(t.Context())); dead != "" {
		t.Errorf("it is not alive: %s", dead)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A loop that gives no sign of life makes the process ask for a new start, one that
// fails does not.
func TestAlive(t *testing.T) {
	t.Parallel()
	l := idle(t, t.TempDir())
	ahead := time.Duration(0)
	l.SetClock(func() time.Time { return time.Now().Add(ahead) })
	if got := told(l.Alive(t.Context())); got != "" {
		t.Errorf("at first: %s", got)
	}
	ahead = time.Hour // three times 2m and 8 attempts of 1m are 30m
	if got := told(l.Alive(t.Context())); got != "account main: its loop has given no sign of life for 1h0m0s" {
		t.Errorf("after an hour: %q", got)
	}
}

// A sink stalls from the moment on at which it neither moves nor fails.
func TestStalls(t *testing.T) {
	t.Parallel()
	l := idle(t, t.TempDir())
	begun := time.Now()
	minute := 0
	l.SetClock(func() time.Time { return begun.Add(time.Duration(minute) * time.Minute) })
	for _, tt := range []struct {
		minute   int
		position uint64
		taken    uint64
		failure  string
		stalled  int
	}{{1, 5, 5, "", 0}, {20, 5, 5, "", 19}, {40, 5, 6, "", 0}, {50, 6, 6, "", 0}, {60, 6, 6, "", 10}, {70, 6, 6, "disk full", 0}, {101, 6, 6, "", 31}} {
		minute = tt.minute
		if got := l.Stalled("archive", tt.position, tt.taken, tt.failure); got != time.Duration(tt.stalled)*time.Minute {
			t.Errorf("minute %d: %v, want %d minutes", tt.minute, got, tt.stalled)
		}
	}
}

// On shared servers, who waits for its turn is ready; who cannot open the place, and
// nobody else has the work, is not.
func TestReadyOnStandby(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	start := func(dir string) *line.Line {
		t.Helper()
		c, err := config.Parse("test.yaml", fmt.Appendf(nil, "data_dir: %q\nnats: {url: %q}\n", dir, url))
		if err != nil {
			t.Fatal(err)
		}
		l, err := line.Open(t.Context(), c, []line.Role{line.Archive}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := errors.Join(<-done, l.Close()); err != nil {
				t.Error(err)
			}
		})
		return l
	}
	await := func(l *line.Line, want string) {
		t.Helper()
		awaitReady(t, l, want, 20*time.Second)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "archive"), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := start(broken)
	await(first, "sink archive: its place cannot be opened")
	second := start(t.TempDir())
	await(second, "")
	await(first, "") // the other one does the work now
}

// awaitReady waits until what keeps a line from its work is what is wanted.
func awaitReady(t *testing.T, l *line.Line, want string, most time.Duration) {
	t.Helper()
	got, limit, tick := "?", time.After(most), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for got != want {
		select {
		case <-tick.C:
			got = told(l.Ready(t.Context()))
		case <-limit:
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
