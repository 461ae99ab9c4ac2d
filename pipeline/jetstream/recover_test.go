package jetstream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

const (
	keeperOrders = 1000
	keeperBatch  = 100
	keeperKills  = 3
)

// keeper is a process that runs an embedded server on a directory and publishes
// without end: all orders, batch by batch, then all of them changed, and so on.
// It writes a line for each batch that was acknowledged.
func keeper(ctx context.Context, dir string) error {
	server, err := jetstream.StartEmbedded(ctx, jetstream.EmbeddedConfig{Dir: dir})
	if err != nil {
		return err
	}
	l, err := jetstream.Open(ctx, jetstream.Config{URL: server.URL()})
	if err != nil {
		return err
	}
	if err := l.LoadIndex(ctx); err != nil {
		return err
	}
	for from := 0; ; from = (from + keeperBatch) % keeperOrders {
		var batch []*message.Message
		for n := from; n < from+keeperBatch; n++ {
			known, _ := l.Known(key(n))
			e := pipelinetest.Event("main", n, known.Version+1)
			m, err := pipeline.NewMessage(&e, known.Sequence, 0)
			if err != nil {
				return err
			}
			batch = append(batch, m)
		}
		if err := l.Publisher().Publish(pipeline.Topic, batch...); err != nil {
			return err
		}
		fmt.Println("batch") //nolint:forbidigo // the parent waits for it
	}
}

// keepAndKill runs a keeper until so many batches are acknowledged, and ends it
// as a power cut would.
func keepAndKill(tb testing.TB, dir string, batches int) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=keeper", childArgument+"="+dir)
	cmd.Stderr = tb.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range batches {
		if !lines.Scan() {
			tb.Fatalf("the child ended: %v", cmd.Wait())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		tb.Fatal("the child ended by itself")
	}
}

// The process is killed while the server fills the bucket: afterwards the bucket
// has every order's last event all the same.
func TestStateBucketSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range keeperKills {
		keepAndKill(t, dir, 10+rand.IntN(20))
		server := pipelinetest.Server(t, dir)
		pipelinetest.Log(t, server.URL())
		if n := bucketIsComplete(t, server.URL()); n != keeperOrders {
			t.Fatalf("%d orders", n)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The worst case, made by hand: the server noted that it had sourced messages
// which it had not written yet.
func TestStateBucketBehindItsPosition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := pipelinetest.Server(t, dir)
	l := pipelinetest.Log(t, server.URL())
	mustPublish(t, l, created(t, 0, 500)...)
	bucketIsComplete(t, server.URL())
	if mode := stateConfig(t, server.URL()).PersistMode; mode != natsjs.AsyncPersistMode {
		t.Fatalf("the bucket is in mode %s", mode)
	}
	if err := errors.Join(l.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	bucket := filepath.Join(dir, "jetstream", "$G", "streams", "KV_orders")
	if _, err := os.Stat(filepath.Join(bucket, "sources.db")); err != nil {
		t.Fatalf("the server keeps its position somewhere else: %v", err)
	}
	loseTail(t, filepath.Join(bucket, "msgs"))
	if err := os.WriteFile(filepath.Join(dir, "nats.url"), nil, 0o600); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	server = pipelinetest.Server(t, dir)
	pipelinetest.Log(t, server.URL())
	if n := bucketIsComplete(t, server.URL()); n != 500 {
		t.Errorf("%d orders", n)
	}
}

// loseTail takes the second half of a stream's last block away, and its index.
func loseTail(tb testing.TB, dir string) {
	tb.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil || len(blocks) == 0 {
		tb.Fatalf("no blocks in %s: %v", dir, err)
	}
	last := slices.MaxFunc(blocks, func(a, b string) int { return len(a) - len(b) })
	info, err := os.Stat(last)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(os.Truncate(last, info.Size()/2), os.Remove(filepath.Join(dir, "index.db"))); err != nil {
		tb.Fatal(err)
	}
}

// bucketIsComplete waits until the bucket holds every order's last event, and
// returns the number of orders.
func bucketIsComplete(tb testing.TB, url string) int {
	tb.Helper()
	js := admin(tb, url)
	var missing, orders int
	eventually(tb, func() string {
		return fmt.Sprintf("%d of %d orders are not in the bucket as in the log", missing, orders)
	}, func() bool {
		last := make(map[string]uint64)
		log, whole := headersOf(tb, js, "ORDERS")
		for _, m := range log {
			meta, err := m.Metadata()
			if err != nil {
				tb.Fatal(err)
			}
			tokens := strings.Split(m.Subject(), ".")
			last[strings.Join(tokens[1:4], ".")] = meta.Sequence.Stream
		}
		orders = len(last)
		bucket, _ := headersOf(tb, js, "KV_orders")
		for _, m := range bucket {
			source, err := strconv.ParseUint(strings.Fields(m.Headers().Get("Nats-Stream-Source"))[1], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			name := strings.TrimPrefix(m.Subject(), "$KV.orders.")
			if last[name] == source {
				delete(last, name)
			}
		}
		missing = len(last)
		return whole && missing == 0
	})
	return orders
}

// headersOf reads the headers of all messages of a stream. They are not the
// whole when the server is slow, or replaces messages meanwhile.
func headersOf(tb testing.TB, js natsjs.JetStream, stream string) (all []natsjs.Msg, whole bool) {
	tb.Helper()
	s, err := js.Stream(tb.Context(), stream)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := s.OrderedConsumer(tb.Context(), natsjs.OrderedConsumerConfig{HeadersOnly: true, InactiveThreshold: time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	for len(all) < int(s.CachedInfo().State.Msgs) {
		part, err := c.Fetch(int(s.CachedInfo().State.Msgs)-len(all), natsjs.FetchMaxWait(time.Second))
		if err != nil {
			tb.Fatal(err)
		}
		before := len(all)
		for m := range part.Messages() {
			all = append(all, m)
		}
		if len(all) == before {
			return all, false
		}
	}
	return all, true
}

func stateConfig(tb testing.TB, url string) natsjs.StreamConfig {
	tb.Helper()
	s, err := admin(tb, url).Stream(tb.Context(), "KV_orders")
	if err != nil {
		tb.Fatal(err)
	}
	return s.CachedInfo().Config
}

// eventually polls a condition, and says at the end what is wrong if it never
// holds.
func eventually(tb testing.TB, wrong func() string, holds func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatal(wrong())
		}
	}
}
