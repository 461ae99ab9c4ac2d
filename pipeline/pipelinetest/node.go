package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Node is one server of a [Cluster]. Its methods belong to the test's goroutine.
type Node struct {
	Name string // "nats-1" and so on
	URL  string // for clients

	container testcontainers.Container
	monitor   string // base of its monitoring addresses
	networks  map[string]attachment
}

// attachment is a server's place in a network.
type attachment struct {
	id      string
	aliases []string
}

// Kill ends the server with SIGKILL and returns when it is gone.
func (n *Node) Kill(tb testing.TB) {
	tb.Helper()
	n.do(tb, n.kill)
}

// Stop ends the server by its stop signal, as an engine does before an update.
func (n *Node) Stop(tb testing.TB) {
	tb.Helper()
	n.do(tb, func(ctx context.Context) error {
		limit := containerLimit
		return n.container.Stop(ctx, &limit)
	})
}

// Revive starts a server that is down on the files that it left, and returns when
// it takes clients.
func (n *Node) Revive(tb testing.TB) {
	tb.Helper()
	n.do(tb, n.revive)
}

// Pause stops the server in the middle of whatever it does. Connections to it stay
// open and nobody answers.
func (n *Node) Pause(tb testing.TB) {
	tb.Helper()
	n.do(tb, withEngine(func(ctx context.Context, engine *client.Client) error {
		_, err := engine.ContainerPause(ctx, n.container.GetContainerID(), client.ContainerPauseOptions{})
		return err
	}))
}

// Unpause lets a paused server go on as if nothing had been.
func (n *Node) Unpause(tb testing.TB) {
	tb.Helper()
	n.do(tb, withEngine(func(ctx context.Context, engine *client.Client) error {
		_, err := engine.ContainerUnpause(ctx, n.container.GetContainerID(), client.ContainerUnpauseOptions{})
		return err
	}))
}

// Part cuts the server off from the other servers only. Clients still reach it.
func (n *Node) Part(tb testing.TB) {
	tb.Helper()
	n.do(tb, withEngine(func(ctx context.Context, engine *client.Client) error {
		return n.disconnect(ctx, engine, peerNetwork)
	}))
}

// Cut cuts the server off from the other servers and from all clients.
func (n *Node) Cut(tb testing.TB) {
	tb.Helper()
	n.do(tb, withEngine(func(ctx context.Context, engine *client.Client) error {
		for _, name := range slices.Sorted(maps.Keys(n.networks)) {
			if err := n.disconnect(ctx, engine, name); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Heal brings a server back into all networks that it was cut off from.
func (n *Node) Heal(tb testing.TB) {
	tb.Helper()
	n.do(tb, withEngine(n.heal))
}

func (n *Node) heal(ctx context.Context, engine *client.Client) error {
	info, err := n.container.Inspect(ctx)
	if err != nil {
		return err
	}
	present := make(map[string]bool)
	for _, e := range info.NetworkSettings.Networks {
		present[e.NetworkID] = true
	}
	for _, a := range n.networks {
		if present[a.id] {
			continue
		}
		_, err := engine.NetworkConnect(ctx, a.id, client.NetworkConnectOptions{
			Container: n.container.GetContainerID(), EndpointConfig: &network.EndpointSettings{Aliases: a.aliases},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) disconnect(ctx context.Context, engine *client.Client, name string) error {
	_, err := engine.NetworkDisconnect(ctx, n.networks[name].id, client.NetworkDisconnectOptions{Container: n.container.GetContainerID()})
	return err
}

func (n *Node) kill(ctx context.Context) error { return killContainer(ctx, n.container) }

// revive does nothing to a server that runs.
func (n *Node) revive(ctx context.Context) error {
	state, err := n.container.State(ctx)
	if err != nil || state.Running {
		return err
	}
	return reviveNATS(ctx, n.container)
}

func (n *Node) do(tb testing.TB, what func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), containerLimit)
	defer cancel()
	if err := what(ctx); err != nil {
		tb.Fatalf("%s: %v", n.Name, err)
	}
}

// withEngine gives a function a connection to the container engine.
func withEngine(do func(context.Context, *client.Client) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		engine, err := testcontainers.NewDockerClientWithOpts(ctx)
		if err != nil {
			return fmt.Errorf("no container engine: %w", err)
		}
		defer func() { err = errors.Join(err, engine.Close()) }()
		return do(ctx, engine.Client)
	}
}
