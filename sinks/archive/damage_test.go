package archive

import (
	"os"
	"path/filepath"
	"testing"
)

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
		noError(tb, b.put(tb.Context(), name, []byte(content)))
	}
}

// writeIntent leaves an intent that nobody has announced.
func writeIntent(dir, document string) error {
	name := filepath.Join(dir, filepath.FromSlash(strayIntent))
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(document), 0o600)
}

const strayIntent = intentDir + "/stray.json"

func writeFile(tb testing.TB, name, content string) {
	tb.Helper()
	noError(tb, os.MkdirAll(filepath.Dir(name), 0o750))
	noError(tb, os.WriteFile(name, []byte(content), 0o600))
}

func noError(tb failer, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
