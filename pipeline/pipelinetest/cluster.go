package pipelinetest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
	"golang.org/x/sync/errgroup"
)

const (
	monitorPort = "8222/tcp"
	peerNetwork = "peers" // of the compose file: only between the servers
)

// clusterLimit bounds how long a cluster may take to be healthy again.
const clusterLimit = 90 * time.Second

// Cluster is the NATS servers of deploy/compose in containers: JetStream with every
// write synced, one network between the servers and another for clients. Addresses
// and files of a server stay the same over all faults.
type Cluster struct {
	Nodes []*Node
}

// ContainerCluster starts the cluster and returns when all servers are healthy,
// under the same conditions as [ContainerNATS].
func ContainerCluster(tb testing.TB) *Cluster {
	tb.Helper()
	image := setting(natsImageVariable, "nats:"+server.VERSION)
	needEngine(tb, image)
	t := ComposeTopology(tb)
	networks := make(map[string]*testcontainers.DockerNetwork)
	for name, kind := range t.Networks {
		var opts []tcnetwork.NetworkCustomizer
		if kind.Internal {
			opts = append(opts, tcnetwork.WithInternal())
		}
		n, err := tcnetwork.New(tb.Context(), opts...)
		testcontainers.CleanupNetwork(tb, n)
		if err != nil {
			tb.Fatal(err)
		}
		networks[name] = n
	}
	c := &Cluster{Nodes: make([]*Node, len(t.servers()))}
	var starts errgroup.Group
	for i, name := range t.servers() {
		starts.Go(func() (err error) {
			c.Nodes[i], err = startNode(tb, image, name, t, networks)
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		tb.Fatal(err)
	}
	c.AwaitHealthy(tb)
	return c
}

// startNode starts one server as its service describes it, on ports of its own.
func startNode(tb testing.TB, image, name string, t Topology, networks map[string]*testcontainers.DockerNetwork) (*Node, error) {
	tb.Helper()
	opts, err := t.options(name, networks)
	if err != nil {
		return nil, err
	}
	service := t.Services[name]
	for try := 1; ; try++ {
		ports := make(map[string]string)
		bindings := make(network.PortMap)
		for _, p := range service.containerPorts() {
			ports[p] = freePort(tb)
			bindings[network.MustParsePort(p)] = []network.PortBinding{{HostPort: ports[p]}}
		}
		c, err := startContainer(tb, image, append(slices.Clone(opts),
			testcontainers.WithExposedPorts(slices.Collect(maps.Keys(ports))...),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.PortBindings = bindings
				h.Mounts = volumes(service, t.dir)
			}),
		))
		if portTaken(err) && try < 5 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return newNode(tb.Context(), name, c, ports, service, networks)
	}
}

// options turns a service into what testcontainers wants, but for ports and volumes.
func (t Topology) options(name string, networks map[string]*testcontainers.DockerNetwork) ([]testcontainers.ContainerCustomizer, error) {
	service, ok := t.Services[name]
	if !ok {
		return nil, fmt.Errorf("%s has no service %s", composeFile, name)
	}
	opts := []testcontainers.ContainerCustomizer{
		testcontainers.WithCmd(service.Command...),
		testcontainers.WithConfigModifier(func(c *container.Config) { c.StopSignal = service.StopSignal }),
		testcontainers.WithWaitStrategyAndDeadline(containerLimit, wait.ForLog(natsReady), wait.ForMappedPort(natsPort)),
	}
	for net, joining := range service.Networks {
		aliases := []string{name}
		if joining != nil {
			aliases = append(aliases, joining.Aliases...)
		}
		opts = append(opts, tcnetwork.WithNetwork(aliases, networks[net]))
	}
	places, err := service.places(t.dir)
	for _, m := range places {
		if m.file != "" {
			opts = append(opts, testcontainers.WithFiles(testcontainers.ContainerFile{
				HostFilePath: m.file, ContainerFilePath: m.target, FileMode: 0o444,
			}))
		}
	}
	return opts, err
}

// volumes makes a volume without a name of each of a service's; it goes with the
// container.
func volumes(service Service, dir string) []mount.Mount {
	var all []mount.Mount
	places, _ := service.places(dir)
	for _, m := range places {
		if m.file == "" {
			all = append(all, mount.Mount{Type: mount.TypeVolume, Target: m.target})
		}
	}
	return all
}

func newNode(ctx context.Context, name string, c testcontainers.Container, ports map[string]string, service Service, networks map[string]*testcontainers.DockerNetwork) (*Node, error) {
	address, err := reach(ctx, c, ports[natsPort])
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n := &Node{
		Name: name, URL: "nats://" + address, container: c,
		monitor:  "http://" + net.JoinHostPort(host, ports[monitorPort]),
		networks: make(map[string]attachment),
	}
	for net, joining := range service.Networks {
		a := attachment{id: networks[net].ID, aliases: []string{name}}
		if joining != nil {
			a.aliases = append(a.aliases, joining.Aliases...)
		}
		n.networks[net] = a
	}
	return n, nil
}

// URL returns the addresses of all servers, separated by commas.
func (c *Cluster) URL() string {
	urls := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		urls[i] = n.URL
	}
	return strings.Join(urls, ",")
}

// Leader returns the server that leads a stream, as most servers see it; it waits
// for one to be elected.
func (c *Cluster) Leader(tb testing.TB, stream string) *Node {
	tb.Helper()
	var leader *Node
	await(tb, clusterLimit, func(ctx context.Context) error {
		votes := make(map[string]int)
		for _, n := range c.Nodes {
			d, err := n.stream(ctx, stream)
			if err == nil && d.Cluster != nil {
				votes[d.Cluster.Leader]++
			}
		}
		for _, n := range c.Nodes {
			if votes[n.Name] > len(c.Nodes)/2 {
				leader = n
				return nil
			}
		}
		return fmt.Errorf("stream %s has no leader: %v", stream, votes)
	})
	return leader
}

// AwaitHealthy waits until every server says that it has caught up with everything.
func (c *Cluster) AwaitHealthy(tb testing.TB) {
	tb.Helper()
	for _, n := range c.Nodes {
		await(tb, clusterLimit, n.healthy)
	}
}

// RollingRestart stops each server in turn by its stop signal and starts it again,
// and goes on when all are healthy.
func (c *Cluster) RollingRestart(tb testing.TB) {
	tb.Helper()
	for _, n := range c.Nodes {
		n.Stop(tb)
		n.Revive(tb)
		c.AwaitHealthy(tb)
	}
}

// KillAll kills all servers at the same time.
func (c *Cluster) KillAll(tb testing.TB) {
	tb.Helper()
	c.each(tb, (*Node).kill)
}

// ReviveAll starts all servers that are down and returns when they take clients.
func (c *Cluster) ReviveAll(tb testing.TB) {
	tb.Helper()
	c.each(tb, (*Node).revive)
}

func (c *Cluster) each(tb testing.TB, do func(*Node, context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), containerLimit)
	defer cancel()
	var all errgroup.Group
	for _, n := range c.Nodes {
		all.Go(func() error { return do(n, ctx) })
	}
	if err := all.Wait(); err != nil {
		tb.Fatal(err)
	}
}
