package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// The configuration of deploy/compose can be read with the secrets beside it, and
// keeps as many replicas as there are servers.
func TestComposeConfiguration(t *testing.T) {
	secrets, err := os.ReadFile("../../deploy/compose/demo.env")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(secrets), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			t.Setenv(name, value)
		}
	}
	c, err := config.Load("../../deploy/compose/orderwire.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if servers := strings.Count(string(c.NATS.URL), "nats://"); servers != c.NATS.Replicas {
		t.Errorf("%d servers and %d replicas", servers, c.NATS.Replicas)
	}
}
