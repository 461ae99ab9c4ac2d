package network_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/orderwire/orderwire/sources/network"
)

// A push of an order and a test push are what the document's webhook says, and
// one without a signature is not.
func TestPushesFollowTheDocument(t *testing.T) {
	schema := loadDocument(t).Webhooks["orderPush"].Post.RequestBody.Value.Content["application/json"].Schema.Value
	m := startMarket(t)
	pushes := m.receivePushes(t)
	if a := m.send(encodings[0].brand(m.fixture, marketKey, marketReport, params{
		"OrderId": "SN-1", "ClickId": m.clickID, "TransactionTime": "2026-11-12T08:00:00+08:00", "Amount": 12.5,
	})); a.Status != network.StatusSuccess {
		t.Fatalf("Status %d: %s", a.Status, a.Message)
	}
	for _, field := range []string{"Test", "OrderSn"} {
		var push map[string]any
		select {
		case push = <-pushes:
		case <-time.After(20 * time.Second):
			t.Fatal("no push comes")
		}
		if push[field] == nil {
			t.Errorf("a push without %s: %v", field, push)
		}
		if err := schema.VisitJSON(push, openapi3.EnableJSONSchema2020()); err != nil {
			t.Error(err)
		}
		for name := range maps.Clone(push) {
			if name == "Sign" || name == "Timestamp" || name == field {
				spoiled := maps.Clone(push)
				delete(spoiled, name)
				if schema.VisitJSON(spoiled, openapi3.EnableJSONSchema2020()) == nil {
					t.Errorf("a push without %s is taken", name)
				}
			}
		}
	}
}

// receivePushes has the first publisher's pushes sent here, a test push first,
// until the test ends.
func (m market) receivePushes(t *testing.T) <-chan map[string]any {
	t.Helper()
	pushes := make(chan map[string]any, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var push map[string]any
		if err := json.NewDecoder(r.Body).Decode(&push); err != nil {
			t.Errorf("a push is no JSON: %v", err)
		}
		pushes <- push
		_, _ = io.WriteString(w, "1")
	}))
	t.Cleanup(receiver.Close)
	if err := m.svc.SetPushTarget(t.Context(), appKey, receiver.URL+"/push"); err != nil {
		t.Fatal(err)
	}
	pusher, err := m.svc.Pusher(network.PusherConfig{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := pusher.Test(t.Context(), appKey); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- pusher.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return pushes
}
