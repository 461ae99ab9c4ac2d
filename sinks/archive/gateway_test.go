package archive

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gatewayVariable names the program versitygw, an S3 store over a folder:
//
//	GOBIN=$PWD go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
const gatewayVariable = "ORDERWIRE_TEST_VERSITYGW"

// gateway is a running store with the bucket "lake".
type gateway struct {
	endpoint string
	root     string
	process  *exec.Cmd
	places   atomic.Int64
}

var theGateway = sync.OnceValues(startGateway)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(gatewayVariable) != "" {
		if g, err := theGateway(); err == nil {
			_ = g.process.Process.Kill()
			_ = g.process.Wait()
			_ = os.RemoveAll(g.root)
		}
	}
	os.Exit(code)
}

func startGateway() (*gateway, error) {
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "t0ps3cret", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	root, err := os.MkdirTemp("", "versitygw")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"data/lake", "meta"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o750); err != nil {
			return nil, err
		}
	}
	free, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	g := &gateway{endpoint: "http://" + address, root: root}
	g.process = exec.CommandContext(context.Background(), os.Getenv(gatewayVariable), "--port", address, "--quiet",
		"--access", "tester", "--secret", "t0ps3cret", "posix", "--sidecar", filepath.Join(root, "meta"), filepath.Join(root, "data"))
	if err := g.process.Start(); err != nil {
		return nil, err
	}
	return g, waitFor(address)
}

// waitFor returns when somebody listens at the address.
func waitFor(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// newPrefix returns an address at which nothing is yet.
func newPrefix(tb testing.TB) string {
	tb.Helper()
	if os.Getenv(gatewayVariable) == "" {
		tb.Skipf("%s names no versitygw", gatewayVariable)
	}
	g, err := theGateway()
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("s3://lake/%d?region=us-east-1&endpoint=%s", g.places.Add(1), g.endpoint)
}

// onPlaces runs a test for each kind of place. fresh returns an address at which
// nothing is yet.
func onPlaces(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		test(t, func(tb testing.TB) string { return tb.TempDir() })
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		newPrefix(t) // or skip
		test(t, newPrefix)
	})
}

func isS3(address string) bool { return strings.HasPrefix(address, s3Scheme) }

// openAt is placeAt with a hook ahead of every change.
func openAt(ctx context.Context, address string, before func(op, path string) error) (place, error) {
	p, err := placeAt(ctx, address)
	switch p := p.(type) {
	case *folder:
		p.before = before
	case *bucket:
		p.before = before
	}
	return p, err
}

func testBucket(tb failer, address string) *bucket {
	tb.Helper()
	p, err := placeAt(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	return p.(*bucket)
}

// objects returns the content of every object below an address.
func objects(tb failer, address string) map[string]string {
	tb.Helper()
	b := testBucket(tb, address)
	names, err := b.list(tb.Context(), "", "")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		content, err := b.read(tb.Context(), name)
		if err != nil {
			tb.Fatal(err)
		}
		all[name] = string(content)
	}
	return all
}

// damaged applies a change of files to the archive at an address.
func damaged(tb testing.TB, address string, damage func(dir string) error) {
	tb.Helper()
	dir := address
	if isS3(address) {
		dir = tb.TempDir()
	}
	before := tree(tb, address)
	for name, content := range before {
		if !isS3(address) {
			break
		}
		writeFile(tb, filepath.Join(dir, filepath.FromSlash(name)), content)
	}
	if err := damage(dir); err != nil {
		tb.Fatal(err)
	}
	if !isS3(address) {
		return
	}
	b, after := testBucket(tb, address), tree(tb, dir)
	for name := range before {
		if _, there := after[name]; !there {
			noError(tb, b.remove(tb.Context(), name))
		}
	}
	for name, content := range after {
		if was, there := before[name]; there && was == content {
			continue
		}
		if name == intentName { // of which a bucket has one for each batch
			name = intentDir + "/damaged.json"
		}
		noError(tb, b.put(tb.Context(), "write", name, []byte(content), nil))
	}
}

func writeFile(tb testing.TB, name, content string) {
	tb.Helper()
	noError(tb, os.MkdirAll(filepath.Dir(name), 0o750))
	noError(tb, os.WriteFile(name, []byte(content), 0o600))
}

func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
