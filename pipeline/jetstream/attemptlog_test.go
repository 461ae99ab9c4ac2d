package jetstream_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// attemptsBegin is when test attempt 0 begins.
var attemptsBegin = time.Now().UTC().Truncate(time.Second).Add(-20 * time.Minute)

// attemptAt is when test attempt n begins.
func attemptAt(n int) time.Time { return attemptsBegin.Add(time.Duration(n) * 100 * time.Millisecond) }

// someAttempt makes the n-th attempt, at one of 100 orders of one of three
// endpoints: of each 20 one fails, and of each 500 one is the last.
func someAttempt(n int) pipeline.Attempt {
	a := pipeline.Attempt{
		At: attemptAt(n), Duration: 1234567, Endpoint: fmt.Sprintf("partner.%d", n%3), Key: key(n % 100), EventID: fmt.Sprintf("event-%d", n),
		Type: schema.StatusChanged, Version: uint64(n%7 + 1), Sequence: uint64(n + 1), Number: 1, Outcome: pipeline.OutcomeDelivered,
	}
	if n%20 == 7 {
		a.Outcome, a.Status, a.Reason, a.Next = pipeline.OutcomeFailed, 503, "answer 503", a.At.Add(time.Minute)
		a.Answer = []byte("\x00\"try \xff later\"\n")
	}
	if n%500 == 7 {
		a.Outcome, a.Next, a.Number, a.Probe = pipeline.OutcomeGivenUp, time.Time{}, 10, true
	}
	return a
}

// recorded stores attempts, all of them: some thousand through a writer each,
// since closing one does not wait for long, however slow the machine is.
func recorded(tb testing.TB, l *jetstream.Log, all []pipeline.Attempt) {
	tb.Helper()
	for some := range slices.Chunk(all, 2000) {
		w := l.Attempts(jetstream.AttemptsConfig{})
		for _, a := range some {
			w.Record(a)
		}
		w.Close(tb.Context())
		if n := w.Dropped(); n != 0 {
			tb.Fatalf("%d attempts were dropped", n)
		}
	}
}

func search(tb testing.TB, l *jetstream.Log, q jetstream.AttemptQuery) []pipeline.Attempt {
	tb.Helper()
	found, err := l.SearchAttempts(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// Every criterion alone and some together, against a search through a slice.
func TestSearchAttempts(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	const n = 10_000
	all := make([]pipeline.Attempt, n)
	for i := range all {
		all[i] = someAttempt(i)
	}
	for _, i := range []int{3000, 3001, 3002} { // of other orders, with names that have to be escaped
		all[i].Key = schema.OrderKey{Account: "a.b", Program: "", OrderSn: "x*1"}
	}
	recorded(t, l, all)
	readOnly, err := jetstream.Open(t.Context(), jetstream.Config{URL: url, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	for name, q := range map[string]jetstream.AttemptQuery{
		"all":                   {},
		"more than the default": {Limit: 2500},
		"more than there are":   {Limit: 2 * n},
		"endpoint":              {Endpoint: "partner.1", Limit: 10},
		"no endpoint":           {Endpoint: "partner"},
		"order":                 {Order: "SN-000042", Limit: 70},
		"all of an order":       {Order: "SN-000042", Limit: n},
		"whole key":             {Account: "main", Program: "1042", Order: "SN-000042", Endpoint: "partner.2"},
		"escaped":               {Account: "a.b", Order: "x*1"},
		"account":               {Account: "a.b"},
		"other account":         {Account: "mai"},
		"event":                 {EventID: "event-12"},
		"failed":                {Outcome: pipeline.OutcomeFailed},
		"given up":              {Outcome: pipeline.OutcomeGivenUp},
		"since":                 {Since: attemptAt(n - 17)},
		"before":                {Before: attemptAt(31)},
		"between":               {Since: attemptAt(4000), Before: attemptAt(4010)},
		"between, of one":       {Since: attemptAt(4000), Before: attemptAt(8000), Order: "SN-000007", Outcome: pipeline.OutcomeFailed, Limit: 5},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := search(t, readOnly, q), expected(all, q)
			if len(got) != len(want) {
				t.Fatalf("%d attempts, want %d", len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("attempt %d:\ngot  %+v\nwant %+v", i, got[i], want[i])
				}
			}
		})
	}
}

// expected searches a slice in which the newest comes last.
func expected(all []pipeline.Attempt, q jetstream.AttemptQuery) (found []pipeline.Attempt) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	for i := len(all) - 1; i >= 0 && len(found) < q.Limit; i-- {
		a := all[i]
		switch {
		case q.Endpoint != "" && a.Endpoint != q.Endpoint, q.Account != "" && a.Key.Account != q.Account, q.Program != "" && a.Key.Program != q.Program,
			q.Order != "" && a.Key.OrderSn != q.Order, q.EventID != "" && a.EventID != q.EventID, q.Outcome != "" && a.Outcome != q.Outcome,
			!q.Since.IsZero() && a.At.Before(q.Since), !q.Before.IsZero() && !a.At.Before(q.Before):
		default:
			found = append(found, a)
		}
	}
	return found
}

// A slow attempt is stored long after it began: the newest are the newest all the
// same.
func TestSearchAttemptsGoesByTheirBegin(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	var all []pipeline.Attempt
	begin := time.Now().Add(-time.Minute)
	for i := range 1000 {
		a := someAttempt(i)
		a.At, a.Outcome = begin.Add(time.Duration((i*7919)%1000)*10*time.Millisecond), pipeline.OutcomeDelivered
		all = append(all, a)
	}
	for some := range 100 {
		recorded(t, l, all[some*10:some*10+10])
	}
	got := search(t, l, jetstream.AttemptQuery{Limit: 50})
	for i, a := range got {
		if want := begin.Add(time.Duration(999-i) * 10 * time.Millisecond); !a.At.Equal(want) {
			t.Fatalf("attempt %d began at %v, want %v", i, a.At, want)
		}
	}
	if len(got) != 50 {
		t.Errorf("%d attempts", len(got))
	}
}

// What was stored long after the time that is asked for is not read.
func TestSearchAttemptsOfLongAgo(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	var before []time.Time // each part
	for part := range 5 {
		before = append(before, time.Now())
		for i := range 10 {
			a := someAttempt(part*10 + i)
			a.At = time.Now()
			recorded(t, l, []pipeline.Attempt{a})
		}
	}
	for part := range 5 {
		got, err := l.SearchAttemptsLate(t.Context(), jetstream.AttemptQuery{Before: before[part]}, time.Millisecond)
		if err != nil || len(got) != 10*part || part > 0 && got[0].EventID != fmt.Sprintf("event-%d", 10*part-1) {
			t.Errorf("before part %d: %d attempts, %v", part, len(got), err)
		}
	}
}

// Chunks that have left the stream, messages that are none, and a stream that is
// not there.
func TestSearchAttemptsWithoutThem(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	if got := search(t, l, jetstream.AttemptQuery{}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	js := admin(t, url)
	if _, err := js.Publish(t.Context(), "orderwire_attempts.x", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "orderwire_attempts.partner.delivered", []byte("hello\n{}\n")); err != nil {
		t.Fatal(err)
	}
	all := make([]pipeline.Attempt, 2000)
	for i := range all {
		all[i] = someAttempt(0)
		all[i].At = attemptAt(i)
	}
	recorded(t, l, all)
	s, err := js.Stream(t.Context(), jetstream.AttemptStreamName)
	if err != nil {
		t.Fatal(err)
	}
	if got := search(t, l, jetstream.AttemptQuery{Limit: 5000}); len(got) != 2000 {
		t.Errorf("%d attempts", len(got))
	}
	if err := s.Purge(t.Context(), natsjs.WithPurgeSequence(7)); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMsg(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	got := search(t, l, jetstream.AttemptQuery{Limit: 5000})
	if len(got) == 0 || len(got) >= 2000-4*256 || !got[0].At.Equal(attemptAt(1999)) {
		t.Errorf("%d attempts", len(got))
	}
	if err := js.DeleteStream(t.Context(), jetstream.AttemptStreamName); err != nil {
		t.Fatal(err)
	}
	if got := search(t, l, jetstream.AttemptQuery{}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// The stream is bounded, by default and as configured, compressed, and a tighter
// bound is no reason not to start.
func TestAttemptStream(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	c := configOf(t, url, jetstream.AttemptStreamName)
	if c.MaxAge != 7*24*time.Hour || c.MaxBytes != 256<<20 || c.Compression != natsjs.S2Compression || c.Discard != natsjs.DiscardOld {
		t.Errorf("%+v", c)
	}
	all := make([]pipeline.Attempt, 20_000)
	for i := range all {
		all[i] = someAttempt(i)
	}
	recorded(t, l, all)
	text := mustReopen(t, url, jetstream.StreamConfig{AttemptsMaxAge: time.Hour, AttemptsMaxBytes: 1 << 20})
	if !strings.Contains(text, "stream ORDERWIRE_ATTEMPTS: max_age 168h -> 1h; max_bytes 268435456 -> 1048576") {
		t.Error(text)
	}
	got := search(t, l, jetstream.AttemptQuery{Limit: len(all)})
	if len(got) < 1000 || len(got) > 10_000 || got[0].EventID != all[len(all)-1].EventID {
		t.Errorf("%d attempts", len(got))
	}
}

// A server that has no room for the attempts is no reason not to start.
func TestNoRoomForAttempts(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	text := mustReopen(t, url, jetstream.StreamConfig{AttemptsMaxBytes: 1 << 60})
	if !strings.Contains(text, "going on without a stream") || !strings.Contains(text, "nats.attempts_max_bytes") {
		t.Error(text)
	}
	l, err := jetstream.Open(t.Context(), jetstream.Config{URL: url, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := search(t, l, jetstream.AttemptQuery{}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// logged is a log of what a writer says.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// What is recorded comes into the log by itself, soon.
func TestAttemptsComeSoon(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	w := l.Attempts(jetstream.AttemptsConfig{})
	defer w.Close(t.Context())
	for i := range 3 {
		w.Record(someAttempt(i))
		deadline := time.Now().Add(10 * time.Second)
		for len(search(t, l, jetstream.AttemptQuery{})) != i+1 {
			if time.Now().After(deadline) {
				t.Fatalf("attempt %d is not there", i)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}

// While the way to the server is cut, attempts are kept as far as the buffer
// goes, and come into the log afterwards, each once.
func TestAttemptsOutliveACut(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	way := newCable(t, server)
	var text logged
	l := openLog(t, jetstream.Config{URL: way.url, Timeout: time.Second})
	w := l.Attempts(jetstream.AttemptsConfig{Every: 10 * time.Millisecond, Buffer: 256 << 10, Logger: slog.New(slog.NewTextHandler(&text, nil))})
	for i := range 2000 {
		if i == 500 {
			way.freeze()
		}
		w.Record(someAttempt(i))
	}
	deadline := time.Now().Add(30 * time.Second)
	for w.Dropped() == 0 && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
	}
	way.cut()
	direct := pipelinetest.Log(t, server.URL())
	var got []pipeline.Attempt
	for uint64(len(got))+w.Dropped() < 2000 && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
		got = search(t, direct, jetstream.AttemptQuery{Limit: 5000})
	}
	w.Close(t.Context())
	got = search(t, direct, jetstream.AttemptQuery{Limit: 5000})
	seen := make(map[string]bool)
	for _, a := range got {
		seen[a.EventID] = true
	}
	if len(seen) != len(got) || uint64(len(got))+w.Dropped() != 2000 || w.Dropped() == 0 || len(got) < 500 {
		t.Errorf("%d attempts, %d of them different, %d dropped", len(got), len(seen), w.Dropped())
	}
	if lines := strings.Count(text.String(), "not recorded"); lines < 1 || lines > 2 {
		t.Errorf("it says:\n%s", text.String())
	}
}

// Closing is bounded while the server is away, and says what is lost, without
// what receivers have answered.
func TestAttemptsCloseWithoutAServer(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	var text logged
	l := openLog(t, jetstream.Config{URL: server.URL(), Logger: slog.New(slog.DiscardHandler)})
	w := l.Attempts(jetstream.AttemptsConfig{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i := range 100_000 {
		w.Record(someAttempt(i))
	}
	recording := time.Since(begun)
	w.Close(t.Context())
	w.Record(someAttempt(1))
	w.Close(t.Context())
	if took := time.Since(begun) - recording; took > 5*time.Second {
		t.Errorf("it took %v to close", took)
	}
	if w.Dropped() != 100_000 || !strings.Contains(text.String(), "not recorded") || strings.Contains(text.String(), "later") {
		t.Errorf("%d dropped, it says:\n%s", w.Dropped(), text.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun = time.Now()
	again := l.Attempts(jetstream.AttemptsConfig{})
	again.Record(someAttempt(1))
	if again.Close(ctx); time.Since(begun) > time.Second || again.Dropped() != 1 {
		t.Errorf("%v with a context that has ended", time.Since(begun))
	}
}
