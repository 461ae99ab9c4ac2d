// Package gatewaytest runs versitygw, an S3 store over a folder, for tests, and
// puts it through the faults that a store can have. The binary never imports it.
package gatewaytest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Variable is the environment variable that names the program:
//
//	GOBIN=$PWD go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
const Variable = "ORDERWIRE_TEST_VERSITYGW"

// The store's only user.
const (
	accessKey = "tester"
	secretKey = "t0ps3cret"
)

// startLimit bounds how long the store may take until it listens.
const startLimit = 30 * time.Second

// Gateway is a store with the bucket "lake". Its methods are for one goroutine.
type Gateway struct {
	Endpoint string // http://host:port
	root     string
	address  string
	process  *exec.Cmd
}

// Start runs a store over a new folder. It ends with the process that started
// it, whatever ends that, as far as the system has a way to see to it.
func Start() (*Gateway, error) {
	root, err := os.MkdirTemp("", "versitygw")
	if err != nil {
		return nil, err
	}
	g := &Gateway{root: root}
	if err := g.begin(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	return g, nil
}

func (g *Gateway) begin() error {
	for _, name := range []string{g.Folder(), g.metadata()} {
		if err := os.MkdirAll(name, 0o750); err != nil {
			return err
		}
	}
	free, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g.address = free.Addr().String()
	g.Endpoint = "http://" + g.address
	if err := free.Close(); err != nil {
		return err
	}
	return g.Revive()
}

// Revive starts a store that is down, at the same address and on the files that
// it left, and returns when it takes requests.
func (g *Gateway) Revive() error {
	g.process = exec.CommandContext(context.Background(), os.Getenv(Variable), "--port", g.address, "--quiet",
		"--access", accessKey, "--secret", secretKey, "posix", "--sidecar", g.metadata(), filepath.Dir(g.Folder()))
	g.process.SysProcAttr = endsWithParent()
	if err := g.process.Start(); err != nil {
		return err
	}
	return listens(g.address)
}

// Kill ends the store with SIGKILL and returns when it is gone.
func (g *Gateway) Kill() error {
	if err := g.process.Process.Kill(); err != nil {
		return err
	}
	_ = g.process.Wait() // says that it was killed
	return nil
}

// Close ends the store and removes its folder.
func (g *Gateway) Close() error { return errors.Join(g.Kill(), os.RemoveAll(g.root)) }

// Folder is where the store keeps its bucket: an object is a file of that name.
func (g *Gateway) Folder() string { return filepath.Join(g.root, "data", "lake") }

// Uploads returns how many uploads in parts are begun and not completed.
func (g *Gateway) Uploads() (int, error) {
	found, err := filepath.Glob(filepath.Join(g.Folder(), ".sgwtmp", "multipart", "*", "*"))
	return len(found), err
}

func (g *Gateway) metadata() string { return filepath.Join(g.root, "meta") }

// Address returns that of an archive in the store.
func (g *Gateway) Address(prefix string) string {
	return fmt.Sprintf("s3://lake/%s?region=us-east-1&endpoint=%s", prefix, g.Endpoint)
}

// Environment is what a client of the store needs, and nothing else of the
// machine's settings.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	}
}

// listens returns when somebody listens at the address.
func listens(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen: %w", os.Getenv(Variable), err)
		case <-tick.C:
		}
	}
}
