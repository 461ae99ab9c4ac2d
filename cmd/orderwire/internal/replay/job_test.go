package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// lettered is a log with dead letters.
type lettered struct {
	*shrinking
	letters []pipeline.Buried
}

func (l *lettered) bury(sink string, raw []byte, sequences ...uint64) {
	for _, sequence := range sequences {
		d := pipeline.Buried{At: moment(sequence).Add(time.Hour), Place: uint64(len(l.letters) + 1)}
		d.Sink, d.Sequence, d.Raw = sink, sequence, raw
		if raw == nil {
			e := stored(sequence)
			d.Raw = e.Raw
		}
		l.letters = append(l.letters, d)
	}
}

func (l *lettered) DeadLetters(_ context.Context, sink string) iter.Seq2[pipeline.Buried, error] {
	return func(yield func(pipeline.Buried, error) bool) {
		for _, d := range l.letters {
			if d.Sink == sink && !yield(d, nil) {
				return
			}
		}
	}
}

func (l *lettered) DeadLetter(_ context.Context, place uint64) (pipeline.Buried, bool, error) {
	return l.letters[place-1], true, nil
}

// receiver keeps the ids and bodies of what it gets.
type receiver struct {
	mu     sync.Mutex
	ids    []string
	bodies []string
}

func (r *receiver) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids, r.bodies = append(r.ids, q.Header.Get("webhook-id")), append(r.bodies, string(body))
}

// job is a replay to a receiver, one delivery at a time.
func job(tb testing.TB, log replay.EndpointLog, q replay.Request) (*replay.Job, *receiver) {
	tb.Helper()
	r := &receiver{}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	q.Concurrency, q.Rate = 1, "none"
	return &replay.Job{
		Request: q, Log: log, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
		Endpoint: config.Webhook{Name: "partner", URL: config.Secret(server.URL), Secret: config.Secret(webhook.NewSecret()), AllowPrivate: true},
	}, r
}

func idsOf(sequences ...uint64) (ids []string) {
	for _, sequence := range sequences {
		e := stored(sequence)
		ids = append(ids, e.Event.ID)
	}
	return ids
}

func TestJob(t *testing.T) {
	t.Parallel()
	dir := archived(t, [2]uint64{1, 40})
	log := &lettered{shrinking: newShrinking(31, 60)}
	log.bury("partner", nil, 50, 12, 33, 12)
	log.bury("another", nil, 13)
	log.bury("partner", []byte("{"), 14)
	log.bury("partner", nil, 5)
	tests := []struct {
		name    string
		request replay.Request
		want    []uint64
		unknown []string
	}{
		{"a range", replay.Request{Range: replay.Range{From: 29, Until: 32}}, span(29, 32), nil},
		{"failures", replay.Request{Failures: true}, []uint64{5, 12, 33, 50}, nil},
		{"failures of a range", replay.Request{Failures: true, Range: replay.Range{From: 6, Until: 40}}, []uint64{12, 33}, nil},
		{"failures of a time", replay.Request{Failures: true, Range: replay.Range{Since: moment(12).Add(time.Hour), Before: moment(50).Add(time.Hour)}}, []uint64{12, 33}, nil},
		{"a failure by its id", replay.Request{Failures: true, Range: replay.Range{IDs: idsOf(33, 34)}}, []uint64{33}, idsOf(34)},
		{"failures of an order", replay.Request{Failures: true, Range: replay.Range{Order: "SN-000012"}}, []uint64{12}, nil},
		{"no failures", replay.Request{Failures: true, Range: replay.Range{From: 51}}, nil, nil},
		{"events by their ids", replay.Request{Range: replay.Range{IDs: idsOf(55, 7)}}, []uint64{7, 55}, nil},
		{"an event of the log", replay.Request{Range: replay.Range{IDs: idsOf(55)}, Source: "log"}, []uint64{55}, nil},
		{"an event of the archive", replay.Request{Range: replay.Range{IDs: idsOf(7)}, Source: "archive"}, []uint64{7}, nil},
		{"an event out of range", replay.Request{Range: replay.Range{From: 8, IDs: idsOf(7, 9)}}, []uint64{9}, idsOf(7)},
		{"none of these", replay.Request{Range: replay.Range{IDs: []string{"x", "y"}}}, nil, []string{"x", "y"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, dry := range []bool{true, false} {
				tt.request.DryRun = dry
				j, got := job(t, log, tt.request)
				j.Archive = dir
				r, err := j.Run(t.Context())
				if err != nil || r.Events != uint64(len(tt.want)) || !slices.Equal(r.Unknown, tt.unknown) || r.DryRun != dry || r.Next != 0 {
					t.Fatalf("%+v, error %v", r, err)
				}
				if dry {
					if len(got.ids) > 0 {
						t.Errorf("a dry run sends %d events", len(got.ids))
					}
					continue
				}
				if !slices.Equal(got.ids, idsOf(tt.want...)) || r.Delivered != uint64(len(tt.want)) {
					t.Errorf("%+v, came %v", r, got.ids)
				}
				for i, sequence := range tt.want {
					entry := stored(sequence)
					if body, err := webhook.Body(&entry); err != nil || string(body) != got.bodies[i] {
						t.Errorf("event %d came as\n%s\nnot\n%s", sequence, got.bodies[i], body)
					}
				}
			}
		})
	}
}

func TestJobPace(t *testing.T) {
	t.Parallel()
	log := &lettered{shrinking: newShrinking(1, 60)}
	for _, tt := range []struct {
		rate          string
		limit         float64 // of the endpoint
		want, seconds float64
	}{
		{"", 0, 100, 0.6},
		{"", 1000, 100, 0.6},
		{"", 20, 10, 6},
		{"none", 0, 0, 0},
		{"0", 20, 20, 3},
		{"5/s", 20, 5, 12},
		{"50", 20, 20, 3},
		{"500/s", 0, 500, 0.2},
	} {
		j, _ := job(t, log, replay.Request{Range: replay.Range{From: 1}, DryRun: true})
		j.Rate, j.Endpoint.RateLimit = tt.rate, tt.limit
		if r, err := j.Run(t.Context()); err != nil || r.Rate != tt.want || r.Seconds != tt.seconds || r.Events != 60 {
			t.Errorf("rate %q at a limit of %g: %+v, error %v", tt.rate, tt.limit, r, err)
		}
	}
}

func TestRequestMistakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		document, field string
	}{
		{`{}`, ""}, {`{"from": 9, "until": 8}`, ""}, {`{"from": 1, "source": "tape"}`, "source"}, {`{"from": 1, "rate": "fast"}`, "rate"},
		{`{"from": 1, "rate": "-1"}`, "rate"}, {`{"from": 1, "concurrency": -1}`, "concurrency"},
		{`{"since": "2026-11-02T00:00:00Z", "before": "2026-11-01T00:00:00Z"}`, ""},
	} {
		var q replay.Request
		if err := json.Unmarshal([]byte(tt.document), &q); err != nil {
			t.Fatal(err)
		}
		var wrong *replay.RequestError
		_, err := (&replay.Job{Request: q}).Run(t.Context())
		if !errors.As(err, &wrong) || wrong.Field != tt.field {
			t.Errorf("%s: %v", tt.document, err)
		}
	}
	want := replay.Request{Range: replay.Range{From: 3, Order: "SN", IDs: []string{"a"}}, Failures: true, Rate: "5/s", DryRun: true}
	var got replay.Request
	text, err := json.Marshal(want)
	if err != nil || json.Unmarshal(text, &got) != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, error %v", text, got, err)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		perSecond float64
		given, ok bool
	}{
		"": {0, false, true}, "none": {0, true, true}, "0": {0, true, true}, "50": {50, true, true}, "0.5/s": {0.5, true, true},
		"-1": {}, "Inf": {}, "NaN": {}, "fast": {}, "50/m": {},
	} {
		perSecond, given, err := replay.ParseRate(text)
		if (err == nil) != want.ok || want.ok && (perSecond != want.perSecond || given != want.given) {
			t.Errorf("%q: %v, given %v, %v", text, perSecond, given, err)
		}
	}
}
