package main_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// inbox is a receiver that keeps the body of every delivery whose signature holds.
type inbox struct {
	server  *httptest.Server
	secret  string
	failing atomic.Bool // answers 503, or else
	refusal int
	mu      sync.Mutex
	bodies  map[string][]string // by webhook-id
	order   []string            // of the arrivals
	more    chan struct{}       // told at each arrival
}

func newInbox(tb testing.TB) *inbox {
	tb.Helper()
	in := &inbox{secret: webhook.NewSecret(), bodies: make(map[string][]string), more: make(chan struct{}, 1)}
	verifier, err := webhook.NewVerifier(in.secret)
	if err != nil {
		tb.Fatal(err)
	}
	in.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || verifier.Verify(r.Header, body, time.Now()) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if in.failing.Load() {
			w.WriteHeader(cmp.Or(in.refusal, http.StatusServiceUnavailable))
			return
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		id := r.Header.Get("webhook-id")
		in.bodies[id] = append(in.bodies[id], string(body))
		in.order = append(in.order, id)
		select {
		case in.more <- struct{}{}:
		default:
		}
	}))
	tb.Cleanup(in.server.Close)
	return in
}

func (in *inbox) yaml() string {
	return fmt.Sprintf("webhooks:\n  - {name: partner, url: '%s', secret: '%s', allow_private: true, retry: [10ms, 20ms]}\n", in.server.URL, in.secret)
}

// take returns what has arrived, by id, and in order, and forgets it.
func (in *inbox) take() (bodies map[string][]string, order []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	bodies, order = in.bodies, in.order
	in.bodies, in.order = make(map[string][]string), nil
	return bodies, order
}

// atWork opens the log of a line that does not run.
func (w *world) atWork(tb testing.TB, do func(ctx context.Context, log *jetstream.Log, stream natsjs.Stream)) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	server, err := jetstream.StartEmbedded(ctx, jetstream.EmbeddedConfig{Dir: filepath.Join(w.dir, "data"), Wait: 10 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	log, err := jetstream.Open(ctx, jetstream.Config{URL: server.URL(), ReadOnly: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	conn, err := nats.Connect(server.URL())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		tb.Fatal(err)
	}
	stream, err := js.Stream(ctx, jetstream.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	do(ctx, log, stream)
}

// trim lets what is before a sequence age out of the log.
func (w *world) trim(tb testing.TB, first uint64) {
	tb.Helper()
	w.atWork(tb, func(ctx context.Context, _ *jetstream.Log, stream natsjs.Stream) {
		if err := stream.Purge(ctx, natsjs.WithPurgeSequence(first)); err != nil {
			tb.Fatal(err)
		}
	})
}

// cursor returns that of the endpoint.
func (w *world) cursor(tb testing.TB) (c pipeline.Cursor) {
	tb.Helper()
	w.atWork(tb, func(ctx context.Context, log *jetstream.Log, _ natsjs.Stream) {
		if found, err := log.LoadCursor(ctx, "endpoint.partner", &c); err != nil || !found {
			tb.Fatalf("cursor found: %v, error %v", found, err)
		}
	})
	return c
}

// replayed runs a replay that has to succeed.
func (w *world) replayed(tb testing.TB, args ...string) (r replay.Report) {
	tb.Helper()
	out := succeed(tb, append([]string{"replay", "-c", w.config, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// replayWorld is a line that has run three times: its log, its archive and its
// books agree.
func replayWorld(tb testing.TB, in *inbox) (w *world, ids []string) {
	tb.Helper()
	w = newWorld(tb, worldConfig{orders: 200, yaml: in.yaml()})
	for range 3 {
		succeed(tb, "run", "-c", w.config, "--once")
		w.step(tb, 60)
	}
	for _, e := range w.events(tb) {
		ids = append(ids, e.ID)
	}
	return w, ids
}

// sameDeliveries fails unless just the wanted events came, once each, with the
// bodies of live deliveries.
func sameDeliveries(tb testing.TB, live, got map[string][]string, want []string) {
	tb.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(slices.Values(want))) {
		tb.Errorf("%d events came, want %d", len(got), len(want))
	}
	for id, bodies := range got {
		if len(bodies) != 1 || bodies[0] != live[id][0] {
			tb.Errorf("event %s came %d times:\n%s\nlive\n%s", id, len(bodies), bodies[0], live[id][0])
		}
	}
}

// From the archive alone, from the log alone, and across the boundary of both:
// a receiver gets every event once, as it came live, in order for each order,
// and the endpoint's cursor stays.
func TestReplayToWebhook(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	live, _ := in.take()
	before, last := w.cursor(t), uint64(len(ids))
	for _, source := range []string{"archive", "log", "auto"} {
		if source == "auto" {
			w.trim(t, 150)
		}
		dry := w.replayed(t, "--to", "webhook=partner", "--from", "10", "--source", source, "--dry-run")
		if n, _ := in.take(); len(n) > 0 || dry.Events != last-9 || dry.First != 10 || dry.Last != last || !dry.DryRun || dry.Delivered != 0 || dry.Next != 0 {
			t.Errorf("dry run from %s: %+v, %d deliveries", source, dry, len(n))
		}
		r := w.replayed(t, "--to", "webhook=partner", "--from", "10", "--source", source)
		if r.Events != dry.Events || r.Delivered != r.Events || !maps.Equal(r.Types, dry.Types) {
			t.Errorf("from %s: %+v", source, r)
		}
		got, order := in.take()
		sameDeliveries(t, live, got, ids[9:])
		ascending(t, got, order)
	}
	if after := w.cursor(t); after.Floor != before.Floor || !slices.Equal(after.Done, before.Done) {
		t.Errorf("cursor %+v, before %+v", after, before)
	}
	first := w.replayed(t, "--to", "webhook=partner", "--from", "140", "--until", "160", "--order", "none")
	if first.Events != 0 {
		t.Errorf("of an order that is none: %+v", first)
	}
}

// What neither the log nor the archive has is named, and nothing is sent.
func TestReplayNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	in.take()
	w.trim(t, 150)
	for source, want := range map[string]string{
		"log":  "events 10 to 149 are not in the log;",
		"auto": "events 10 to 149 are not in the log, nor in the archive at ",
	} {
		_, errs, code := orderwire(t, "", "replay", "-c", w.config, "--to", "webhook=partner", "--from", "10", "--source", source)
		if source == "auto" {
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			in.take()
			if err := os.RemoveAll(filepath.Join(w.dir, "data", "archive")); err != nil {
				t.Fatal(err)
			}
			_, errs, code = orderwire(t, "", "replay", "-c", w.config, "--to", "webhook=partner", "--from", "10")
		}
		if got, _ := in.take(); code != 1 || !strings.Contains(errs, want) || len(got) > 0 {
			t.Errorf("exit code %d, %d deliveries: %s", code, len(got), errs)
		}
	}
	r := w.replayed(t, "--to", "webhook=partner", "--from", "10", "--skip-missing")
	if got, _ := in.take(); r.Events != uint64(len(ids)-149) || len(got) != len(ids)-149 {
		t.Errorf("%+v, %d deliveries", r, len(got))
	}
}

// SIGTERM in the middle, and a receiver that fails for good: the replay says where
// to go on, and going on there leaves nothing out.
func TestReplayIsResumed(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	live, _ := in.take()

	p := launch(t, "replay", "-c", w.config, "--to", "webhook=partner", "--from", "1", "--source", "archive", "--rate", "100/s")
	for range 20 {
		<-in.more
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	line := p.log.await(t, "interrupted; go on with --from ")
	<-p.done
	from, err := strconv.ParseUint(line[strings.LastIndex(line, " ")+1:], 10, 64)
	if err != nil || from < 2 || from > uint64(len(ids)) || p.cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("exit code %d: %s", p.cmd.ProcessState.ExitCode(), line)
	}
	in.failing.Store(true)
	_, errs, code := orderwire(t, "", "replay", "-c", w.config, "--to", "webhook=partner", "--from", strconv.FormatUint(from, 10))
	if code != 1 || !strings.Contains(errs, "could not be delivered in 3 attempts") || !strings.Contains(errs, "503") ||
		!strings.Contains(errs, fmt.Sprintf("go on with --from %d", from)) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	in.failing.Store(false)
	w.replayed(t, "--to", "webhook=partner", "--from", strconv.FormatUint(from, 10))
	got, _ := in.take()
	twice := 0
	for id, bodies := range got {
		if len(bodies) > 1 {
			twice++
			got[id] = bodies[:1]
		}
	}
	sameDeliveries(t, live, got, ids)
	t.Logf("interrupted at %d of %d; %d events came twice", from, len(ids), twice)
}

// dump returns all tables of the books.
func dump(tb testing.TB, path string) string {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all strings.Builder
	for _, query := range []string{"SELECT * FROM commission_orders ORDER BY account, program_id, order_sn", "SELECT * FROM commission_position"} {
		dumpRows(tb, db, query, &all)
	}
	return all.String()
}

func dumpRows(tb testing.TB, db *sql.DB, query string, to *strings.Builder) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), query)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	values := make([]any, len(names))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			tb.Fatal(err)
		}
		for i, v := range values {
			fmt.Fprintf(to, "%s=%v ", names[i], *(v.(*any)))
		}
		to.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
}

// New books stand still at what has aged out, are filled by a replay, equal those
// that were filled live, and a run goes on behind it.
func TestReplayIntoBooks(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	w.trim(t, 150)
	old := filepath.Join(w.dir, "data", "commission.db")
	fresh := filepath.Join(w.dir, "fresh.db")
	want := dump(t, old)
	for range 2 { // the second time it changes nothing
		r := w.replayed(t, "--to", "commission="+fresh)
		if r.Known != 0 || r.Refused != 0 {
			t.Errorf("%+v", r)
		}
		if got := dump(t, fresh); got != want {
			t.Fatalf("books filled by a replay:\n%s\nlive:\n%s", got, want)
		}
	}
	if r := w.replayed(t, "--to", "commission="+fresh, "--from", "1", "--until", "170"); r.Known != 170 || dump(t, fresh) != want {
		t.Errorf("again: %+v", r)
	}

	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(w.dir, "later.db")
	if err := os.WriteFile(w.config, fmt.Appendf(text, "commission: {dsn: %q}\n", later), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := orderwire(t, "", "run", "-c", w.config, "--once", "--only", "commission")
	if code != 1 || !strings.Contains(errs, "events 1 to 149 have aged out of the log before sink commission took them") ||
		!strings.Contains(errs, "orderwire replay -c "+w.config+" --to commission") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	_, errs, code = orderwire(t, "", "replay", "-c", w.config, "--to", "commission", "--from", "2")
	if code != 2 || !strings.Contains(errs, "events 1 to 1 would be left out") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	w.replayed(t, "--to", "commission", "--until", "155") // not all of it: the run does the rest
	succeed(t, "run", "-c", w.config, "--once")
	r := w.replayed(t, "--to", "commission="+fresh)
	if r.First != uint64(len(ids))+1 || dump(t, fresh) != dump(t, later) {
		t.Errorf("after a run: %+v\n%s\nwant\n%s", r, dump(t, fresh), dump(t, later))
	}
	succeed(t, "verify", "-c", w.config)
}

// A replay into the books keeps away from a line that keeps them.
func TestReplayBesideALine(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	live, _ := in.take()
	p := launch(t, "run", "-c", w.config, "--only", "commission,webhook")
	p.log.await(t, "line is running")
	_, errs, code := orderwire(t, "", "replay", "-c", w.config, "--to", "commission")
	if code != 1 || !strings.Contains(errs, "sink commission belongs to another process") || !strings.Contains(errs, "stop that `orderwire run`") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	w.replayed(t, "--to", "commission="+filepath.Join(w.dir, "other.db"))
	w.replayed(t, "--to", "webhook=partner", "--from", "1", "--until", "30")
	got, _ := in.take()
	sameDeliveries(t, live, got, ids[:30])
	p.terminate(t)
}

// The same on servers of their own, where leases say who has the books.
func TestReplayBesideALineOnServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{orders: 50, yaml: fmt.Sprintf("nats: {url: '%s'}\n", natsServer(t))})
	succeed(t, "run", "-c", w.config, "--once", "--only", "poll,archive")
	p := launch(t, "run", "-c", w.config, "--only", "commission")
	p.log.await(t, "this process does the work now")
	_, errs, code := orderwire(t, "", "replay", "-c", w.config, "--to", "commission", "--from", "1")
	if code != 1 || !strings.Contains(errs, "sink commission belongs to another process (") || !strings.Contains(errs, p.pid()) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	p.terminate(t)
	if r := w.replayed(t, "--to", "commission", "--from", "1"); r.Events != 50 {
		t.Errorf("%+v", r)
	}
	succeed(t, "run", "-c", w.config, "--once") // the lease was given back
}

// paused sets the endpoint back, to where it was before its events left the log.
func (w *world) paused(tb testing.TB, first uint64) {
	tb.Helper()
	w.atWork(tb, func(ctx context.Context, log *jetstream.Log, _ natsjs.Stream) {
		if err := log.SaveCursor(ctx, "endpoint.partner", pipeline.Cursor{Floor: 120, Done: []uint64{121, 123}}); err != nil {
			tb.Fatal(err)
		}
	})
	w.trim(tb, first)
}

// What has aged out of the log before an endpoint took it comes from the archive,
// each event once, as it would have come before, and in order for each order. With
// the archive gone, the endpoint stands still, says how to deliver the events, and
// goes on when it is told to.
func TestEndpointBehindTheLog(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	w, ids := replayWorld(t, in)
	live, _ := in.take()
	owed := slices.Concat(ids[121:122], ids[123:])
	w.paused(t, 150)
	succeed(t, "run", "-c", w.config, "--once", "--only", "webhook")
	got, order := in.take()
	sameDeliveries(t, live, got, owed)
	ascending(t, got, order)
	if c := w.cursor(t); c.Floor != uint64(len(ids)) || len(c.Done) > 0 {
		t.Errorf("cursor %+v", c)
	}

	w.paused(t, 160)
	if err := os.RemoveAll(filepath.Join(w.dir, "data", "archive")); err != nil {
		t.Fatal(err)
	}
	_, errs, code := orderwire(t, "", "run", "-c", w.config, "--once", "--only", "webhook")
	command := "replay -c " + w.config + " --to webhook=partner --from 122 --until 159"
	if got, _ := in.take(); code != 1 || !strings.Contains(errs, "endpoint partner took them; `orderwire "+command+"`") || len(got) > 0 {
		t.Fatalf("exit code %d, %d deliveries: %s", code, len(got), errs)
	}
	w.replace(t, "accounts:", "nats: {skip_aged_out: 159}\naccounts:")
	succeed(t, "run", "-c", w.config, "--once", "--only", "webhook")
	got, _ = in.take()
	sameDeliveries(t, live, got, ids[159:])
}

// ascending fails unless the versions of each order ascend.
func ascending(tb testing.TB, bodies map[string][]string, order []string) {
	tb.Helper()
	versions := make(map[string]uint64)
	for _, id := range order {
		var m webhook.Message
		if err := json.Unmarshal([]byte(bodies[id][0]), &m); err != nil {
			tb.Fatal(err)
		}
		key := m.Data.Order.Key(m.Data.Account).String()
		if m.Data.Version <= versions[key] {
			tb.Errorf("order %s: version %d after %d", key, m.Data.Version, versions[key])
		}
		versions[key] = m.Data.Version
	}
}

func TestReplayUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldConfig{yaml: newInbox(t).yaml()})
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "--to says who gets the events"},
		{[]string{"--to", "archive"}, 2, "--to says who gets the events"},
		{[]string{"--to", "webhook=partner"}, 2, "say which events"},
		{[]string{"--to", "webhook=nobody", "--from", "1"}, 2, `has no webhook called "nobody"`},
		{[]string{"--to", "webhook=partner", "--from", "9", "--until", "8"}, 2, "ends before it begins"},
		{[]string{"--to", "webhook=partner", "--since", "yesterday"}, 2, `--since: "yesterday" is no time`},
		{[]string{"--to", "webhook=partner", "--from", "1", "--rate", "-1"}, 2, `--rate: "-1" is no number`},
		{[]string{"--to", "webhook=partner", "--from", "1", "--concurrency", "-1"}, 2, "--concurrency: it is less than 1"},
		{[]string{"--to", "commission", "--rate", "fast"}, 2, `--rate: "fast" is no number`},
		{[]string{"--to", "commission", "--failures"}, 2, "whole ranges of sequences"},
		{[]string{"--to", "commission", "--event", "1"}, 2, "whole ranges of sequences"},
		{[]string{"--to", "webhook=partner", "--from", "1", "--source", "tape"}, 2, `no source "tape"`},
		{[]string{"--to", "commission", "--account", "main"}, 2, "whole ranges of sequences"},
		{[]string{"--to", "webhook=partner", "--from", "1", "--source", "archive"}, 1, "no archive is there"},
	} {
		_, errs, code := orderwire(t, "", append([]string{"replay", "-c", w.config}, tt.args...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("replay %v: exit code %d\n%s", tt.args, code, errs)
		}
	}
}
