package iceberg

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gatewayVariable names the program versitygw, an S3 store over a folder, as in
// the tests of the archive.
const gatewayVariable = "ORDERWIRE_TEST_VERSITYGW"

// bucket starts a store and returns the address of an archive in it.
func bucket(t *testing.T) string {
	t.Helper()
	program := os.Getenv(gatewayVariable)
	if program == "" {
		t.Skipf("%s names no versitygw", gatewayVariable)
	}
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "t0ps3cret", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(key, value)
	}
	root := t.TempDir()
	for _, name := range []string{"data/lake", "meta"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	store := exec.CommandContext(context.Background(), program, "--port", address, "--quiet",
		"--access", "tester", "--secret", "t0ps3cret", "posix", "--sidecar", filepath.Join(root, "meta"), filepath.Join(root, "data"))
	if err := store.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = store.Process.Kill()
		_ = store.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
			return "s3://lake/orders?endpoint=http://" + address
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

// Files and metadata are in a bucket; the table comes after a crash as well.
func TestTableInABucket(t *testing.T) {
	address := bucket(t)
	cfg := configure(t, address)
	archived(t, address, 30)
	follow(t, newFollower(t, cfg))
	archived(t, address, 40, 60)
	f := newFollower(t, cfg)
	follow(t, f)
	tbl := sameAs(t, f, address)
	if want := "s3://lake/orders/_orderwire/iceberg/orderwire/events"; tbl.Location() != want {
		t.Errorf("the table is at %s", tbl.Location())
	}
	tasks, err := tbl.Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if path := task.File.FilePath(); !strings.HasPrefix(path, "s3://lake/orders/account=") || strings.Contains(path, "?") {
			t.Errorf("file %s", path)
		}
	}
	for _, account := range []string{"main", "a=b/c", "ü 1"} {
		want, got := held(t.Context(), t, address, account), scan(t, tbl, is(account))
		if !got.equal(want) || len(want.sequences) != 20 {
			t.Errorf("account %q: %d rows, not %d", account, len(got.sequences), len(want.sequences))
		}
	}
	if n := len(snapshots(tbl)); n != 2 {
		t.Errorf("%d snapshots", n)
	}
}
