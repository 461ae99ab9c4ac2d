package archive

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/orderwire/orderwire/sinks/archive/internal/gatewaytest"
)

// theGateway is the store of all tests of this package.
var theGateway = sync.OnceValues(startGateway)

// prefixes counts the archives in the store.
var prefixes atomic.Int64

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(gatewaytest.Variable) != "" {
		if g, err := theGateway(); err == nil {
			_ = g.Close()
		}
	}
	os.Exit(code)
}

func startGateway() (*gatewaytest.Gateway, error) {
	for key, value := range gatewaytest.Environment() {
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	return gatewaytest.Start()
}

// newPrefix returns an address at which nothing is yet.
func newPrefix(tb testing.TB) string {
	tb.Helper()
	if os.Getenv(gatewaytest.Variable) == "" {
		tb.Skipf("%s names no versitygw", gatewaytest.Variable)
	}
	g, err := theGateway()
	if err != nil {
		tb.Fatal(err)
	}
	return g.Address(fmt.Sprint(prefixes.Add(1)))
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
	own, err := b.list(tb.Context(), ownDir)
	noError(tb, err)
	names, err := b.list(tb.Context(), ".")
	noError(tb, err)
	all := map[string]string{}
	for _, name := range append(own, names...) {
		content, err := b.read(tb.Context(), name)
		if err != nil {
			tb.Fatal(err)
		}
		all[name] = string(content)
	}
	return all
}
