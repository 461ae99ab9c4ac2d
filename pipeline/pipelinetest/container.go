package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
)

// Environment variables of the tests that run containers.
const (
	// modeVariable says what to do where no container can run: by default such
	// tests are skipped, with the reason; "required" makes them fail; "off" skips
	// them everywhere.
	modeVariable = "ORDERWIRE_CONTAINER_TESTS"
	// natsImageVariable names an image of nats-server, by default that of the
	// version that is compiled in.
	natsImageVariable = "ORDERWIRE_NATS_IMAGE"
	// imageVariable names Orderwire's image, by default "orderwire:ci".
	imageVariable = "ORDERWIRE_IMAGE"
	// reaperVariable keeps testcontainers' reaper off unless somebody asks for it:
	// its image would have to be pulled, and every test removes what it started.
	reaperVariable = "TESTCONTAINERS_RYUK_DISABLED"
)

// containerLimit bounds the start of a container and each request to the engine.
const containerLimit = time.Minute

// greetingLimit bounds how long a server may take to greet.
const greetingLimit = 5 * time.Second

// firstPort and lastPort bound the ports that servers are published at, below
// those that systems take for outgoing connections.
const (
	firstPort = 16_000
	lastPort  = 32_000
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

// prepare makes testcontainers work without its reaper, and without its
// progress reports, in which a test's own output would be lost.
var prepare = sync.OnceValue(func() error {
	log.SetDefault(log.NewNoopLogger())
	if _, set := os.LookupEnv(reaperVariable); set {
		return nil
	}
	return os.Setenv(reaperVariable, "true")
})

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
	engine, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	gone := engine.ContainerWait(ctx, c.GetContainerID(), client.ContainerWaitOptions{})
	if _, err := engine.ContainerKill(ctx, c.GetContainerID(), client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-gone.Result:
	case err := <-gone.Error:
		tb.Fatal(err)
	}
}

// ReviveNATS starts a killed nats-server on the files that it left and returns
// when it takes clients.
func ReviveNATS(tb testing.TB, c testcontainers.Container) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), containerLimit)
	defer cancel()
	before, err := readLog(ctx, c)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	starts := strings.Count(before, natsReady) + 1 // the log goes on from the life before
	if err := wait.ForLog(natsReady).WithOccurrence(starts).WaitUntilReady(ctx, c); err != nil {
		tb.Fatal(err)
	}
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

// needEngine makes sure that containers of the images can be run here. An image
// that is not there is not pulled, so that a test run takes nothing from the
// network.
func needEngine(tb testing.TB, images ...string) {
	tb.Helper()
	mode := os.Getenv(modeVariable)
	if mode == "off" {
		tb.Skipf("%s=off", modeVariable)
	}
	if mode != "" && mode != "required" {
		tb.Fatalf("%s=%s: want required, off or nothing", modeVariable, mode)
	}
	err := errors.Join(prepare(), haveImages(tb.Context(), images))
	if err != nil && mode == "required" {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Skipf("needs a container: %v", err)
	}
}

func haveImages(ctx context.Context, images []string) error {
	ctx, cancel := context.WithTimeout(ctx, containerLimit)
	defer cancel()
	engine, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return fmt.Errorf("no container engine: %w", err)
	}
	defer func() { _ = engine.Close() }()
	if _, err := engine.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("the container engine does not answer: %w", err)
	}
	for _, image := range images {
		if _, err := engine.ImageInspect(ctx, image); err != nil {
			return fmt.Errorf("image %s (bash .ci/images builds it): %w", image, err)
		}
	}
	return nil
}

// freePort returns a port that nobody listens on at the moment. A port that the
// engine chooses would be another one after a restart; one of the range from which
// connections take theirs could be gone by then.
func freePort(tb testing.TB) string {
	tb.Helper()
	for range 100 {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort))
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			tb.Fatal(err)
		}
		return port
	}
	tb.Fatalf("no free port between %d and %d", firstPort, lastPort)
	return ""
}

// portTaken reports whether a container did not start because somebody was faster.
func portTaken(err error) bool {
	return err != nil &&
		(strings.Contains(err.Error(), "port is already allocated") || strings.Contains(err.Error(), "address already in use"))
}

func setting(variable, otherwise string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return otherwise
}
