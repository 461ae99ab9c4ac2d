package pipelinetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// composeFile is the deployment that the container tests start parts of, from the
// root of the repository.
const composeFile = "deploy/compose/compose.yaml"

// Topology is what tests use of a compose file.
type Topology struct {
	Services map[string]Service     `yaml:"services"`
	Networks map[string]NetworkKind `yaml:"networks"`
	dir      string
}

// Service is a container of a compose file.
type Service struct {
	Image      string   `yaml:"image"`
	Command    []string `yaml:"command"`
	StopSignal string   `yaml:"stop_signal"`
	Networks   Joinings `yaml:"networks"`
	Ports      []string `yaml:"ports"`
	Volumes    []string `yaml:"volumes"`
}

// Joinings are the networks of a service. Compose takes a plain list of names as well.
type Joinings map[string]*Joining

// UnmarshalYAML reads both forms.
func (j *Joinings) UnmarshalYAML(raw []byte) error {
	var names []string
	if yaml.Unmarshal(raw, &names) == nil {
		*j = make(Joinings, len(names))
		for _, n := range names {
			(*j)[n] = nil
		}
		return nil
	}
	return yaml.Unmarshal(raw, (*map[string]*Joining)(j))
}

// Joining says under which further names a service is found in a network.
type Joining struct {
	Aliases []string `yaml:"aliases"`
}

// NetworkKind is a network of a compose file.
type NetworkKind struct {
	Internal bool `yaml:"internal"` // without a way out
}

// ComposeTopology reads the NATS servers and networks of deploy/compose, with the
// defaults of its settings.
func ComposeTopology(tb testing.TB) Topology {
	tb.Helper()
	file := filepath.Join(root(tb), composeFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	t := Topology{dir: filepath.Dir(file)}
	if err := yaml.Unmarshal(withDefaults(raw), &t); err != nil {
		tb.Fatalf("%s: %v", composeFile, err)
	}
	return t
}

var composeSetting = regexp.MustCompile(`\$\{[A-Z0-9_]+:-([^}]*)\}`)

// withDefaults writes the default in place of every ${NAME:-default}.
func withDefaults(raw []byte) []byte { return composeSetting.ReplaceAll(raw, []byte("$1")) }

// root returns the root of the repository, which tests run somewhere below.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}

// servers returns the names of the NATS servers.
func (t Topology) servers() []string {
	var names []string
	for name := range t.Services {
		if strings.HasPrefix(name, "nats-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// containerPorts returns the ports inside of the container that are published.
func (s Service) containerPorts() []string {
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, p[strings.LastIndex(p, ":")+1:]+"/tcp")
	}
	return ports
}

// place is a volume of a service: a file beside the compose file, or a place that
// outlives the container.
type place struct {
	file   string // "" for a volume
	target string
}

func (s Service) places(dir string) ([]place, error) {
	var all []place
	for _, v := range s.Volumes {
		source, rest, ok := strings.Cut(v, ":")
		if !ok {
			return nil, fmt.Errorf("volume %q: want source:target", v)
		}
		target, _, _ := strings.Cut(rest, ":")
		m := place{target: target}
		if strings.HasPrefix(source, ".") {
			m.file = filepath.Join(dir, source)
		}
		all = append(all, m)
	}
	return all, nil
}
