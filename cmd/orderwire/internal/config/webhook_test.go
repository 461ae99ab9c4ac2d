package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// endpointOf returns the settings of the one endpoint whose keys are given.
func endpointOf(t *testing.T, keys string) (webhook.Config, error) {
	t.Helper()
	c, err := config.Parse("f", []byte("webhooks:\n  - name: a\n    url: https://example.com\n    secret: s\n"+keys))
	if err != nil {
		return webhook.Config{}, err
	}
	return c.Webhooks[0].Endpoint(nil), nil
}

func TestWebhookSettings(t *testing.T) {
	t.Setenv("OLD_SECRET", "whsk_old")
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := endpointOf(t, `    previous_secrets: [whsec_older, "${OLD_SECRET}"]
    client_cert: /etc/client.pem
    client_key: file:`+key+`
    ca_file: /etc/ca.pem
    where: 'status == "Approved"'
`)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.PreviousSecrets, []string{"whsec_older", "whsk_old"}) {
		t.Errorf("%d previous secrets: %q", len(got.PreviousSecrets), got.PreviousSecrets)
	}
	if got.Where != `status == "Approved"` {
		t.Errorf("where is %q", got.Where)
	}
	if got.ClientCert != "/etc/client.pem" || got.ClientKey != "-----BEGIN PRIVATE KEY-----" || got.CAFile != "/etc/ca.pem" {
		t.Errorf("%v, %v and %v", got.ClientCert, got.ClientKey, got.CAFile)
	}
	if _, err := endpointOf(t, "    client_key: file:/nowhere/key.pem\n"); err == nil || !strings.Contains(err.Error(), "f:5: ") || !strings.Contains(err.Error(), "/nowhere/key.pem") {
		t.Errorf("a key that is not there: %v", err)
	}
}

func TestBadWhereIsPlaced(t *testing.T) {
	t.Parallel()
	_, err := endpointOf(t, "    events: [order.created]\n    where: 'regression && amuont > 1'\n")
	if err == nil || !strings.HasPrefix(err.Error(), "f:6: webhooks[0].where: line 1, character 15: unknown name amuont (did you mean amount? ") {
		t.Errorf("got %v", err)
	}
}
