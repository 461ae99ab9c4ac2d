package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
)

// hookCommand runs a command on webhooks and reads its answer.
func hookCommand[T any](tb testing.TB, w *world, args ...string) T {
	tb.Helper()
	var answer T
	out := succeed(tb, append(append([]string{"webhook"}, args...), "-c", w.config, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return answer
}

// An endpoint is added, paused, resumed and tested beside a running process, which
// does it at once, and gets every event in order. Its secret is never shown again.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	hook := newHook(t)
	w := newWorld(t, worldConfig{orders: 300})
	secret := filepath.Join(w.dir, "secret")
	if err := os.WriteFile(secret, []byte(hook.secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "run", "-c", w.config)
	p.log.await(t, "line is running")
	out := succeed(t, "webhook", "add", "partner", "-c", w.config, "--url", hook.server.URL, "--secret-file", secret,
		"--allow-private", "--from", "first", "--retry", "100ms,1s", "--rate", "5000/s", "--header", "X-Team: orders")
	p.log.await(t, "endpoint is taken in")
	if result := hookCommand[endpoints.TestResult](t, w, "test", "partner"); result.Status != http.StatusOK && result.Status != http.StatusNoContent {
		t.Errorf("%+v", result)
	}
	out += succeed(t, "webhook", "pause", "partner", "-c", w.config, "--reason", "moves house")
	p.log.await(t, "endpoint is paused")
	if all := hookCommand[[]endpoints.View](t, w, "list"); len(all) != 1 || all[0].State != "paused" || all[0].Reason != "moves house" {
		t.Errorf("%+v", all)
	}
	w.step(t, 100)
	if _, errs, code := orderwire(t, "", "webhook", "release", "partner", "-c", w.config, "--account", "main", "--order", "none"); code != 1 || !strings.Contains(errs, "not parked") {
		t.Errorf("release: exit code %d\n%s", code, errs)
	}
	out += succeed(t, "webhook", "resume", "partner", "-c", w.config)
	p.log.await(t, "endpoint goes on")
	rotated := hookCommand[endpoints.Secret](t, w, "rotate", "partner", "--keep", "1h")
	p.log.await(t, "secrets=2")
	out += succeed(t, "webhook", "list", "-c", w.config)
	p.terminate(t)

	succeed(t, "run", "-c", w.config, "--once")
	hook.check(t, w.events(t))
	if _, errs, code := orderwire(t, "", "webhook", "release", "partner", "-c", w.config, "--account", "main", "--order", "none"); code != 1 || !strings.Contains(errs, "no process delivers") {
		t.Errorf("release without a process: exit code %d\n%s", code, errs)
	}
	out += succeed(t, "webhook", "rotate", "partner", "-c", w.config, "--finish") + succeed(t, "webhook", "list", "-c", w.config, "-o", "json")
	if strings.Contains(out, hook.secret) || strings.Contains(out, rotated.Secret) || rotated.Secret == "" {
		t.Errorf("a secret is shown again:\n%s", out)
	}
	succeed(t, "webhook", "remove", "partner", "-c", w.config)
	if all := hookCommand[[]endpoints.View](t, w, "list"); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// A receiver that refuses a test is told with exit code 1 and what it answered.
func TestWebhookMistakes(t *testing.T) {
	t.Parallel()
	hook := newHook(t)
	w := newWorld(t, worldConfig{orders: 5, yaml: hook.yaml()})
	succeed(t, "run", "-c", w.config, "--once")
	url := "https://example.com/in"
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"add", "x"}, 2, "url: is missing"},
		{[]string{"add", "partner", "--url", url}, 2, "exists already"},
		{[]string{"add", "x", "--url", url, "--where", "amuont > 1"}, 2, "where: "},
		{[]string{"add", "x", "--url", url, "--from", "yesterday"}, 2, "--from: "},
		{[]string{"add", "x", "--url", url, "--from", "900"}, 2, "the newest event is "},
		{[]string{"add", "x", "--url", url, "--rate", "fast"}, 2, "--rate: "},
		{[]string{"add", "x", "--url", url, "--retry", "soon"}, 2, "--retry: "},
		{[]string{"add", "x", "--url", url, "--header", "secret-token"}, 2, "--header: "},
		{[]string{"add", "x", "--url", url, "--secret-file", "/nowhere"}, 2, "--secret-file: "},
		{[]string{"remove", "partner"}, 2, "stands in the configuration file"},
		{[]string{"rotate", "partner"}, 2, "previous_secrets"},
		{[]string{"rotate", "partner", "--finish", "--keep", "1h"}, 2, "--finish"},
		{[]string{"remove", "x"}, 2, "no such endpoint"}, {[]string{"pause", "x"}, 2, "no such endpoint"},
		{[]string{"test", "x"}, 2, "no such endpoint"}, {[]string{"pause"}, 2, "pause wants NAME"}, {[]string{"burn"}, 2, "no command"},
		{[]string{"release", "partner"}, 2, "--account"},
	} {
		args := append([]string{"webhook"}, tt.args...)
		if tt.args[0] != "burn" {
			args = append(args, "-c", w.config)
		}
		out, errs, code := orderwire(t, "", args...)
		if code != tt.code || !strings.Contains(errs, tt.want) || strings.Contains(errs, "secret-token") || out != "" {
			t.Errorf("%v: exit code %d\n%s%s", tt.args, code, out, errs)
		}
	}
	hook.refusing.Store(true)
	out, errs, code := orderwire(t, "", "webhook", "test", "partner", "-c", w.config)
	if code != 1 || !strings.Contains(out, "not here") || !strings.Contains(errs, "answer 403") || strings.Contains(errs, "not here") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
