package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	natsPort       = "4222/tcp"
	natsReady      = "Server is ready"
	natsConfigFile = "/nats.conf"
	natsConfig     = `
port: 4222
jetstream { store_dir: "/data", sync_interval: always }
`
)

// ContainerNATS starts a nats-server in a container, with JetStream on the
// container's own files and every write synced, and returns its address. The
// address and the files stay the same over [KillContainer] and [ReviveNATS].
//
// Where no container can run, the test is skipped, or fails if the environment
// says ORDERWIRE_CONTAINER_TESTS=required.
func ContainerNATS(tb testing.TB, opts ...testcontainers.ContainerCustomizer) (url string, c testcontainers.Container) {
	tb.Helper()
	image := setting(natsImageVariable, "nats:"+server.VERSION)
	needEngine(tb, image)
	for try := 1; ; try++ {
		port := freePort(tb)
		own := []testcontainers.ContainerCustomizer{
			testcontainers.WithFiles(testcontainers.ContainerFile{
				Reader: strings.NewReader(natsConfig), ContainerFilePath: natsConfigFile, FileMode: 0o444,
			}),
			testcontainers.WithCmd("-c", natsConfigFile),
			testcontainers.WithExposedPorts(natsPort),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.PortBindings = network.PortMap{network.MustParsePort(natsPort): {{HostPort: port}}}
			}),
			testcontainers.WithWaitStrategyAndDeadline(containerLimit, wait.ForLog(natsReady), wait.ForMappedPort(natsPort)),
		}
		c, err := startContainer(tb, image, append(own, opts...))
		if portTaken(err) && try < 5 {
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		address, err := reach(tb.Context(), c, port)
		if err != nil {
			tb.Fatal(err)
		}
		return "nats://" + address, c
	}
}

// reach returns the address at which a nats-server's published port answers. It
// is on this machine unless the test runs in a container itself, which
// testcontainers can only guess.
func reach(ctx context.Context, c testcontainers.Container, port string) (string, error) {
	host, err := c.Host(ctx)
	if err != nil {
		return "", err
	}
	var failures []error
	for _, h := range []string{"localhost", host} {
		address := net.JoinHostPort(h, port)
		err := greeted(ctx, address)
		if err == nil {
			return address, nil
		}
		failures = append(failures, err)
	}
	return "", errors.Join(failures...)
}

// greeted waits for the first bytes that a nats-server sends to a client.
func greeted(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: greetingLimit}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(greetingLimit)); err != nil {
		return err
	}
	greeting := make([]byte, len("INFO "))
	if _, err := io.ReadFull(conn, greeting); err != nil {
		return fmt.Errorf("no greeting from %s: %w", address, err)
	}
	return nil
}

// ContainerOrderwire starts Orderwire's own image, as deploy/Containerfile makes
// it, under the same conditions as [ContainerNATS].
func ContainerOrderwire(tb testing.TB, opts ...testcontainers.ContainerCustomizer) testcontainers.Container {
	tb.Helper()
	image := setting(imageVariable, "orderwire:ci")
	needEngine(tb, image)
	c, err := startContainer(tb, image, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// ContainerNetwork makes a network in which containers find each other by name;
// see package network of testcontainers for how to join it.
func ContainerNetwork(tb testing.TB) *testcontainers.DockerNetwork {
	tb.Helper()
	needEngine(tb)
	n, err := tcnetwork.New(tb.Context())
	testcontainers.CleanupNetwork(tb, n)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// KillContainer ends a container's process with SIGKILL and returns when it is
// gone.
func KillContainer(tb testing.TB, c testcontainers.Container) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), containerLimit)
	defer cancel()
	if err := killContainer(ctx, c); err != nil {
		tb.Fatal(err)
	}
}

func killContainer(ctx context.Context, c testcontainers.Container) error {
	return withEngine(func(ctx context.Context, engine *client.Client) error {
		gone := engine.ContainerWait(ctx, c.GetContainerID(), client.ContainerWaitOptions{})
		if _, err := engine.ContainerKill(ctx, c.GetContainerID(), client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
			return err
		}
		select {
		case <-gone.Result:
			return nil
		case err := <-gone.Error:
			return err
		}
	})(ctx)
}

// ReviveNATS starts a killed nats-server on the files that it left and returns
// when it takes clients.
func ReviveNATS(tb testing.TB, c testcontainers.Container) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), containerLimit)
	defer cancel()
	if err := reviveNATS(ctx, c); err != nil {
		tb.Fatal(err)
	}
}

func reviveNATS(ctx context.Context, c testcontainers.Container) error {
	before, err := readLog(ctx, c)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	starts := strings.Count(before, natsReady) + 1 // the log goes on from the life before
	return wait.ForLog(natsReady).WithOccurrence(starts).WaitUntilReady(ctx, c)
}

func readLog(ctx context.Context, c testcontainers.Container) (string, error) {
	r, err := c.Logs(ctx)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), errors.Join(err, r.Close())
}

func startContainer(tb testing.TB, image string, opts []testcontainers.ContainerCustomizer) (testcontainers.Container, error) {
	tb.Helper()
	c, err := testcontainers.Run(tb.Context(), image, opts...)
	testcontainers.CleanupContainer(tb, c, testcontainers.StopTimeout(0))
	if c != nil {
		tb.Cleanup(func() {
			if tb.Failed() {
				tell(tb, c)
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("container of %s: %w", image, err)
	}
	return c, nil
}

// tell copies what a container logged to the output of a failed test.
func tell(tb testing.TB, c testcontainers.Container) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), containerLimit)
	defer cancel()
	text, err := readLog(ctx, c)
	if err != nil {
		tb.Logf("no log of container %s: %v", c.GetContainerID(), err)
		return
	}
	tb.Logf("log of container %s:\n%s", c.GetContainerID(), text)
}
