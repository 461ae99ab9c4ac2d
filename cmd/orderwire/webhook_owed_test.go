package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// An endpoint that nobody answers for is owed everything that it wants, beside one
// that has taken all.
func TestWebhookOwed(t *testing.T) {
	t.Parallel()
	hook := newHook(t)
	dead := fmt.Sprintf("  - {name: dead, url: 'http://127.0.0.1:9', secret: '%s', allow_private: true, retry: [1h]}\n", webhook.NewSecret())
	w := newWorld(t, worldConfig{orders: 30, yaml: hook.yaml() + dead})
	succeed(t, "run", "-c", w.config, "--once")
	var owed []endpoints.Owed
	if err := json.Unmarshal([]byte(succeed(t, "webhook", "owed", "-c", w.config, "-o", "json")), &owed); err != nil || len(owed) != 2 {
		t.Fatalf("%v, %+v", err, owed)
	}
	if e := owed[0]; e.Endpoint != "partner" || e.Events != 0 || e.Oldest != nil || e.Floor != 30 {
		t.Errorf("%+v", e)
	}
	if e := owed[1]; e.Endpoint != "dead" || e.Events != 30 || e.Oldest == nil || e.Oldest.Sequence != 1 || e.ParkedOrders == 0 || e.Last != 30 {
		t.Errorf("%+v", e)
	}
	table := succeed(t, "webhook", "owed", "dead", "-c", w.config)
	if !strings.Contains(table, "dead ") || strings.Contains(table, "partner") || !strings.Contains(table, " 30 ") {
		t.Errorf("%s", table)
	}
	if _, errs, code := orderwire(t, "", "webhook", "owed", "nobody", "-c", w.config); code != 2 || !strings.Contains(errs, "webhook nobody: there is no such endpoint") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
