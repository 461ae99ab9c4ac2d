package webhook

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// A test is signed like every other delivery, holds no order, and is sent whatever
// the filters say.
func TestTrial(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("thank you")) })
	e := endpoint(t, r.URL, func(c *Config) { c.Events, c.Accounts = []schema.EventType{schema.OrderVanished}, []string{"none"} })
	got := e.Test(t.Context())
	if got.Status != http.StatusOK || got.Reason != "" || string(got.Answer) != "thank you" || got.Duration <= 0 || len(got.ID) != 32 {
		t.Errorf("%+v", got)
	}
	sent := r.deliveries()
	if len(sent) != 1 {
		t.Fatalf("%d deliveries", len(sent))
	}
	v, err := NewVerifier(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Verify(sent[0].header, sent[0].body, time.Now()); err != nil {
		t.Error(err)
	}
	var body map[string]any
	if err := json.Unmarshal(sent[0].body, &body); err != nil || body["type"] != "webhook.test" || len(body) != 3 {
		t.Errorf("%v: %s", err, sent[0].body)
	}
	if data, _ := body["data"].(map[string]any); data["id"] != got.ID || sent[0].header.Get("webhook-id") != got.ID {
		t.Errorf("%s", sent[0].body)
	}
	if s := e.Stats(); s != (Stats{}) {
		t.Errorf("it is counted: %+v", s)
	}
}

func TestTrialThatFails(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(strings.Repeat("x", 5000)))
	})
	if got := endpoint(t, r.URL).Test(t.Context()); got.Status != http.StatusForbidden || got.Reason != "answer 403 Forbidden" || len(got.Answer) != 1<<10 {
		t.Errorf("%+v", got)
	}
	r.Close()
	if got := endpoint(t, r.URL).Test(t.Context()); got.Status != 0 || !strings.HasPrefix(got.Reason, "no answer") || strings.Contains(got.Reason, "whsec") {
		t.Errorf("%+v", got)
	}
}
