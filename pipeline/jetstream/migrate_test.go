package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// reopen opens a log with other settings for a moment, and returns what was
// logged.
func reopen(tb testing.TB, url string, c jetstream.StreamConfig) (string, error) {
	tb.Helper()
	var text bytes.Buffer
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	l, err := jetstream.Open(ctx, jetstream.Config{URL: url, Streams: c, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	if err == nil {
		err = l.Close()
	}
	return text.String(), err
}

func mustReopen(tb testing.TB, url string, c jetstream.StreamConfig) string {
	tb.Helper()
	text, err := reopen(tb, url, c)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func configOf(tb testing.TB, url, stream string) natsjs.StreamConfig {
	tb.Helper()
	s, err := admin(tb, url).Stream(tb.Context(), stream)
	if err != nil {
		tb.Fatal(err)
	}
	return s.CachedInfo().Config
}

func update(tb testing.TB, url, stream string, change func(*natsjs.StreamConfig)) {
	tb.Helper()
	c := configOf(tb, url, stream)
	change(&c)
	if _, err := admin(tb, url).UpdateStream(tb.Context(), c); err != nil {
		tb.Fatal(err)
	}
}

// Every setting reaches the server, once, and is told.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	if text := mustReopen(t, url, jetstream.StreamConfig{}); strings.Count(text, ": new") != 9 {
		t.Errorf("a new installation logs:\n%s", text)
	}
	if text := mustReopen(t, url, jetstream.StreamConfig{}); text != "" {
		t.Errorf("without a change it logs:\n%s", text)
	}
	wanted := jetstream.StreamConfig{
		MaxAge: 2160 * time.Hour, MaxBytes: 1 << 30, MaxMessages: 5_000_000, MaxMessageSize: 64 << 10,
		DuplicateWindow: 90 * time.Second, DeadMaxAge: 48 * time.Hour, Compress: true,
	}
	text := mustReopen(t, url, wanted)
	for _, line := range []string{
		"stream ORDERS: max_age 0 -> 2160h; max_bytes 0 -> 1073741824; max_messages 0 -> 5000000; max_message_size 0 -> 65536; duplicate_window 2m -> 1m30s; compression none -> s2",
		"stream KV_orders: compression none -> s2", "stream ORDERS_DLQ: max_age 0 -> 48h; compression none -> s2",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in:\n%s", line, text)
		}
	}
	if strings.Count(text, "\n") != 3 {
		t.Errorf("more than three lines:\n%s", text)
	}
	got := configOf(t, url, "ORDERS")
	if got.MaxAge != wanted.MaxAge || got.MaxBytes != wanted.MaxBytes || got.MaxMsgs != wanted.MaxMessages || got.MaxMsgSize != wanted.MaxMessageSize {
		t.Errorf("%+v", got)
	}
	if text := mustReopen(t, url, wanted); text != "" {
		t.Errorf("a second start changes again:\n%s", text)
	}
	if text := mustReopen(t, url, jetstream.StreamConfig{}); !strings.Contains(text, "max_age 2160h -> 0") {
		t.Errorf("wider again:\n%s", text)
	}
}

// What somebody set by hand stays, unless the log needs it otherwise.
func TestMigrateKeepsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	mustReopen(t, url, jetstream.StreamConfig{})
	update(t, url, "ORDERS", func(c *natsjs.StreamConfig) {
		c.Subjects = append(c.Subjects, "audit.>")
		c.Metadata["team"] = "orders"
		c.AllowAtomicPublish, c.Description = false, "ours"
	})
	text := mustReopen(t, url, jetstream.StreamConfig{MaxAge: time.Hour})
	if !strings.Contains(text, "stream ORDERS: max_age 0 -> 1h; atomic batches off -> on") {
		t.Error(text)
	}
	got := configOf(t, url, "ORDERS")
	if len(got.Subjects) != 2 || got.Metadata["team"] != "orders" || got.Description != "ours" || !got.AllowAtomicPublish {
		t.Errorf("%+v", got)
	}
	update(t, url, "ORDERS", func(c *natsjs.StreamConfig) { c.Subjects = []string{"orders.>"} })
	mustReopen(t, url, jetstream.StreamConfig{MaxAge: time.Hour})
}

// A start that would delete events is refused with figures, changes nothing at
// all, and can be allowed.
func TestMigrateRefusesLoss(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		tight jetstream.StreamConfig
		want  []string
		left  uint64
	}{
		{"messages", jetstream.StreamConfig{MaxMessages: 60, DeadMaxAge: time.Hour},
			[]string{"stream ORDERS: the new settings would delete the oldest 40 of 100 messages, about ", "that exceed max_messages 60", "nats.allow_data_loss"}, 60},
		{"bytes", jetstream.StreamConfig{MaxBytes: 20_000}, []string{"the oldest ", " bytes, about ", "that exceed max_bytes 20000"}, 0},
		{"age", jetstream.StreamConfig{MaxAge: 100 * time.Millisecond}, []string{"100 of 100 messages, about ", "that are older than max_age 100ms"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := pipelinetest.Server(t, t.TempDir()).URL()
			l := pipelinetest.Log(t, url)
			mustPublish(t, l, created(t, 0, 100)...)
			awaitAge(t, url, tt.tight.MaxAge)
			text, err := reopen(t, url, tt.tight)
			var refused *jetstream.MigrationError
			if !errors.As(err, &refused) || refused.Stream != "ORDERS" || text != "" {
				t.Fatalf("%v\n%s", err, text)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if c := configOf(t, url, "ORDERS_DLQ"); c.MaxAge != 0 {
				t.Errorf("the dead letters were changed nevertheless: %s", c.MaxAge)
			}
			tt.tight.AllowDataLoss = true
			mustReopen(t, url, tt.tight)
			if tt.left > 0 {
				if got := messages(t, url, "ORDERS"); got != tt.left {
					t.Errorf("%d messages are left", got)
				}
			}
		})
	}
}

// awaitAge waits until the newest message of the log has an age.
func awaitAge(tb testing.TB, url string, age time.Duration) {
	tb.Helper()
	s, err := admin(tb, url).Stream(tb.Context(), "ORDERS")
	if err != nil {
		tb.Fatal(err)
	}
	newest := s.CachedInfo().State.LastTime
	eventually(tb, func() string { return "time stands still" }, func() bool { return time.Since(newest) > age })
}

func messages(tb testing.TB, url, stream string) uint64 {
	tb.Helper()
	s, err := admin(tb, url).Stream(tb.Context(), stream)
	if err != nil {
		tb.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// Bounds that nothing exceeds are no loss. Of the messages on both sides of a
// new age those beyond it are counted.
func TestMigrateCountsByAge(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	mustPublish(t, l, created(t, 0, 30)...)
	mustReopen(t, url, jetstream.StreamConfig{MaxAge: time.Hour, MaxMessages: 50, MaxBytes: 1 << 20})
	awaitAge(t, url, 400*time.Millisecond)
	mustPublish(t, l, created(t, 30, 50)...)
	_, err := reopen(t, url, jetstream.StreamConfig{MaxAge: 400 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "30 of 50 messages") {
		// on a machine that is busy for long the other 20 are old as well
		if err == nil || !strings.Contains(err.Error(), "50 of 50 messages") {
			t.Error(err)
		}
	}
}

func TestMigrateRefusesStorage(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	mustReopen(t, url, jetstream.StreamConfig{})
	_, err := reopen(t, url, jetstream.StreamConfig{Memory: true, AllowDataLoss: true})
	if err == nil || !strings.Contains(err.Error(), "no server can change the storage of a stream, here from file to memory") {
		t.Error(err)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	mustReopen(t, url, jetstream.StreamConfig{Memory: true})
	for _, stream := range []string{"ORDERS", "KV_orders", "KV_orderwire_cursors"} {
		if c := configOf(t, url, stream); c.Storage != natsjs.MemoryStorage {
			t.Errorf("stream %s is in %s", stream, c.Storage)
		}
	}
}

func TestMigrateRefusesForeignStreams(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		foreign natsjs.StreamConfig
		want    string
	}{
		{"same name", natsjs.StreamConfig{Name: "ORDERS", Subjects: []string{"shop.>"}},
			"stream ORDERS: there is a stream of this name that is not Orderwire's: its subjects are shop.>, not orders.*.*.*.*"},
		{"same subjects", natsjs.StreamConfig{Name: "SHOP", Subjects: []string{"orders.eu.>"}},
			"stream ORDERS: stream SHOP has subjects that overlap with orders.*.*.*.*"},
		{"work queue", natsjs.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Retention: natsjs.WorkQueuePolicy}, "its retention is workqueue"},
		{"same bucket", natsjs.StreamConfig{Name: "KV_orders", Subjects: []string{"$KV.orders.>"}}, "stream KV_orders: there is a stream of this name that is not Orderwire's: it is not filled from stream ORDERS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := pipelinetest.Server(t, t.TempDir()).URL()
			js := admin(t, url)
			if _, err := js.CreateStream(t.Context(), tt.foreign); err != nil {
				t.Fatal(err)
			}
			_, err := reopen(t, url, jetstream.StreamConfig{AllowDataLoss: true})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if got := configOf(t, url, tt.foreign.Name); len(got.Subjects) != 1 || got.Subjects[0] != tt.foreign.Subjects[0] {
				t.Errorf("it was changed: %v", got.Subjects)
			}
		})
	}
}

func TestReplicasNeedACluster(t *testing.T) {
	t.Parallel()
	_, err := reopen(t, pipelinetest.Server(t, t.TempDir()).URL(), jetstream.StreamConfig{Replicas: 3})
	if err == nil || !strings.Contains(err.Error(), "a single NATS server holds one replica") {
		t.Error(err)
	}
}

// Inspect says what Open would do, and does nothing.
func TestInspect(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	inspect := func(c jetstream.StreamConfig) []string {
		found, err := jetstream.Inspect(t.Context(), jetstream.Config{URL: url, Streams: c})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(found.Server, "orderwire:") && !strings.Contains(found.Server, "xxxxx") {
			t.Errorf("the server is %s", found.Server)
		}
		var all []string
		for _, p := range found.Streams {
			all = append(all, p.String())
		}
		return all
	}
	if got := inspect(jetstream.StreamConfig{}); len(got) != 9 || got[0] != "stream ORDERS: new" {
		t.Error(got)
	}
	if _, err := admin(t, url).Stream(t.Context(), "ORDERS"); !errors.Is(err, natsjs.ErrStreamNotFound) {
		t.Errorf("Inspect made the stream: %v", err)
	}
	mustReopen(t, url, jetstream.StreamConfig{})
	if got := inspect(jetstream.StreamConfig{MaxAge: time.Hour}); got[0] != "stream ORDERS: max_age 0 -> 1h" || got[1] != "stream KV_orders: as configured" {
		t.Error(got)
	}
	if c := configOf(t, url, "ORDERS"); c.MaxAge != 0 {
		t.Error("Inspect changed the stream")
	}
}

// Processes that start at the same time do not fight.
func TestConcurrentStarts(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	for _, c := range []jetstream.StreamConfig{{}, {MaxAge: time.Hour}} {
		var starts sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			starts.Go(func() { _, errs[i] = reopen(t, url, c) })
		}
		starts.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if got := configOf(t, url, "ORDERS"); got.MaxAge != c.MaxAge {
			t.Errorf("max_age %s", got.MaxAge)
		}
	}
}
