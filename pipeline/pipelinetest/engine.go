package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
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

// prepare makes testcontainers work without its reaper, and without its
// progress reports, in which a test's own output would be lost.
var prepare = sync.OnceValue(func() error {
	log.SetDefault(log.NewNoopLogger())
	if _, set := os.LookupEnv(reaperVariable); set {
		return nil
	}
	return os.Setenv(reaperVariable, "true")
})

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
