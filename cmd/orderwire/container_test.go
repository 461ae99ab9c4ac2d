package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Orderwire's own image, its roles apart: the network in one container, the log on
// a nats-server in another, the line in a third. Every order is created once, also
// when the line runs again.
func TestContainerImage(t *testing.T) {
	t.Parallel()
	const orders = 1200
	secret := testcontainers.WithEnv(map[string]string{"APP_SECRET": testSecret})
	net := pipelinetest.ContainerNetwork(t)
	url, _ := pipelinetest.ContainerNATS(t, network.WithNetwork([]string{"nats"}, net))
	pipelinetest.ContainerOrderwire(t, network.WithNetwork([]string{"network"}, net),
		testcontainers.WithCmd("network", "--listen", "0.0.0.0:8090", "--db", "/data/network.db", "--base-url", "http://network:8090",
			"--app-key", testKey, "--app-secret", "${APP_SECRET}", "--orders", fmt.Sprint(orders), "--speed", "0"),
		secret, testcontainers.WithWaitStrategyAndDeadline(time.Minute, wait.ForLog("network is answering")))

	line := pipelinetest.ContainerOrderwire(t, network.WithNetwork(nil, net),
		testcontainers.WithFiles(testcontainers.ContainerFile{
			Reader:            strings.NewReader(containerConfig("nats://nats:4222", "${APP_SECRET}")),
			ContainerFilePath: "/etc/orderwire/orderwire.yaml", FileMode: 0o444,
		}),
		testcontainers.WithCmd("run", "-c", "/etc/orderwire/orderwire.yaml", "--once"),
		secret, testcontainers.WithWaitStrategyAndDeadline(time.Minute, wait.ForExit()))
	outside := &world{config: filepath.Join(t.TempDir(), "orderwire.yaml")}
	if err := os.WriteFile(outside.config, []byte(containerConfig(url, testSecret)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pass := range []string{"first", "second"} {
		state, err := line.State(t.Context())
		if err != nil || state.ExitCode != 0 {
			t.Fatalf("%s pass: exit code %d, %v", pass, state.ExitCode, err)
		}
		events := outside.events(t)
		if got := len(checkVersions(t, events)); got != orders || len(events) != orders {
			t.Fatalf("%s pass: %d events of %d orders in the log, want %d of each", pass, len(events), got, orders)
		}
		if pass == "first" {
			if err := line.Start(t.Context()); err != nil { // it returns when the container has ended again
				t.Fatal(err)
			}
		}
	}
}

func containerConfig(natsURL, secret string) string {
	return `nats: {url: "` + natsURL + `"}
accounts:
  - name: main
    base_url: http://network:8090
    app_key: "` + testKey + `"
    app_secret: ` + secret + `
    poll: {backfill: 35d, requests_per_second: 2000}
`
}
