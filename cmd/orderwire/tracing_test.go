package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans is a collector of traces.
type spans struct {
	server *httptest.Server

	mu    sync.Mutex
	all   map[string]*tracev1.Span // by id
	raw   bytes.Buffer             // all that came
	wrong []string
}

func newSpans(tb testing.TB) *spans {
	tb.Helper()
	s := &spans{all: make(map[string]*tracev1.Span)}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.take(r); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.wrong = append(s.wrong, err.Error())
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	tb.Cleanup(s.server.Close)
	return s
}

func (s *spans) take(r *http.Request) error {
	if r.URL.Path != "/v1/traces" || r.Header.Get("X-Team") != "orders" {
		return fmt.Errorf("%s with %v", r.URL.Path, r.Header)
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			return err
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(b, &request); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(b)
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.all[hex.EncodeToString(span.GetSpanId())] = span
			}
		}
	}
	return nil
}

// parents returns the names of a span and of those above it.
func (s *spans) parents(span *tracev1.Span) (names string) {
	for span != nil {
		names += span.GetName() + " "
		above := s.all[hex.EncodeToString(span.GetParentSpanId())]
		if above != nil && !bytes.Equal(above.GetTraceId(), span.GetTraceId()) {
			return names + "of another trace"
		}
		span = above
	}
	return strings.TrimSpace(names)
}

// Every delivery belongs to the trace of the poll that brought its order, the batches
// of the sinks are linked to that, and no span holds anything of an order.
func TestTraces(t *testing.T) {
	t.Parallel()
	s, o := newSpans(t), newOutlet(t, "partner", takes)
	o.start(t)
	const orders = 300
	w := newWorld(t, worldConfig{orders: orders, yaml: "webhooks:\n" + o.yaml("") +
		fmt.Sprintf("tracing: {endpoint: '%s', headers: {X-Team: orders}}\n", s.server.URL)})
	succeed(t, "run", "-c", w.config, "--once")
	if len(s.wrong) > 0 {
		t.Fatal(s.wrong)
	}
	published := make(map[string]bool)
	count := make(map[string]int)
	for id, span := range s.all {
		count[s.parents(span)]++
		if span.GetName() == "publish" {
			published[id] = true
		}
	}
	if count["deliver publish poll"] != orders || count["poll"] == 0 || count["fetch page poll"] == 0 {
		t.Errorf("spans: %v", count)
	}
	linked := make(map[string]bool)
	for _, span := range s.all {
		for _, link := range span.GetLinks() {
			linked[attributeOf(span, "orderwire.sink")+" "+fmt.Sprint(published[hex.EncodeToString(link.GetSpanId())])] = true
		}
	}
	if len(linked) != 2 || !linked["archive true"] || !linked["commission true"] {
		t.Errorf("links: %v", linked)
	}
	for _, e := range w.events(t) {
		for _, text := range []string{e.Data.Order.OrderSn.String(), e.Data.Order.SubID.String()} {
			if text != "" && bytes.Contains(s.raw.Bytes(), []byte(text)) {
				t.Fatalf("a span holds %q of an order", text)
			}
		}
	}
	if bytes.Contains(s.raw.Bytes(), []byte(testSecret)) || bytes.Contains(s.raw.Bytes(), []byte(o.secret)) {
		t.Error("a span holds a secret")
	}
}

func attributeOf(span *tracev1.Span, key string) string {
	for _, a := range span.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// A collector that does not answer costs spans, and nothing else.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	o := newOutlet(t, "partner", takes)
	o.start(t)
	w := newWorld(t, worldConfig{orders: 50, yaml: "webhooks:\n" + o.yaml("") + "tracing: {endpoint: 'http://127.0.0.1:1'}\n"})
	out, errs, code := orderwire(t, "", "run", "-c", w.config, "--once")
	if code != 0 || o.count() != 50 || !strings.Contains(errs, "the collector of traces does not take them") {
		t.Errorf("exit code %d, %d deliveries\n%s%s", code, o.count(), out, errs)
	}
}
