package pipelinetest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Everything of the deployment listens on loopback; its NATS servers are of the
// version that the tests compile in, and find each other where clients cannot.
func TestComposeTopology(t *testing.T) {
	top := pipelinetest.ComposeTopology(t)
	published, servers := 0, 0
	for name, s := range top.Services {
		for _, p := range s.Ports {
			published++
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("service %s publishes %s, not on loopback", name, p)
			}
		}
		if !strings.HasPrefix(name, "nats-") {
			continue
		}
		servers++
		if want := "nats:" + server.VERSION; s.Image != want {
			t.Errorf("service %s is of image %s, want %s", name, s.Image, want)
		}
		if s.Networks["peers"] == nil || len(s.Networks["peers"].Aliases) != 1 {
			t.Errorf("service %s has no name of its own among its peers", name)
		}
	}
	if servers != 3 || published < servers {
		t.Errorf("%d NATS servers and %d published ports", servers, published)
	}
	if !top.Networks["peers"].Internal {
		t.Error("network peers is open to the outside")
	}
}

// Compose accepts the file.
func TestContainerComposeFile(t *testing.T) {
	t.Parallel()
	compose := pipelinetest.Compose(t)
	out, err := exec.CommandContext(t.Context(), compose[0], append(compose[1:], "--profile", "stores", "config", "--services")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := len(strings.Fields(string(out))), len(pipelinetest.ComposeTopology(t).Services); got != want {
		t.Errorf("%d services, want %d:\n%s", got, want, out)
	}
}
