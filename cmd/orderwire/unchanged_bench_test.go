package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// changedShare is the share of orders that differ between two polls, one in so many.
const changedShare = 100

// BenchmarkRepeatedPoll polls everything that is known already, from the bytes
// of the HTTP answers to the answer that nothing changed, and the same with one
// order in a hundred changed and published. The log's server is a process of its
// own. orders/core-s is orders in a second of one core's time.
func BenchmarkRepeatedPoll(b *testing.B) {
	w := newWorld(b, worldConfig{orders: firstPollOrders})
	l := pipelinetest.Log(b, serverProcess(b, b.TempDir()))
	answers := &recorded{service: w.service.Handler(), pages: make(map[string]*[2][]byte)}
	client, err := openapi.NewClient(openapi.Config{
		BaseURL: "http://network.invalid", AppKey: testKey, AppSecret: testSecret, RequestsPerSecond: -1,
		HTTPClient: &http.Client{Transport: answers},
	})
	if err != nil {
		b.Fatal(err)
	}
	const history = 35 * 24 * time.Hour
	now := time.Now()
	p := poller.New(poller.Config{
		Account: poller.Account{Name: "main", Backfill: history, Overlap: history}, // every poll reads everything
		Network: client, Log: l, Publisher: l.Publisher(), Now: func() time.Time { return now },
	})
	poll(b, p)
	if n := p.Stats().Created; n != firstPollOrders {
		b.Fatalf("%d orders created", n)
	}
	for name, changed := range map[string]int64{"unchanged": 0, "changed=1%": 1} {
		b.Run(name, func(b *testing.B) {
			before, cpu := p.Stats(), cpuTime(b)
			for b.Loop() {
				answers.turn(changed)
				poll(b, p)
			}
			orders := float64(firstPollOrders) * float64(b.N)
			b.ReportMetric(orders/(cpuTime(b)-cpu).Seconds(), "orders/core-s")
			got := p.Stats().Changed - before.Changed
			if due := int64(b.N) * answers.changing() * changed; got != due {
				b.Fatalf("%d events, want %d", got, due)
			}
		})
	}
}

// recorded answers as the network did at first, from memory, in two versions
// that differ in one order of a hundred.
type recorded struct {
	service http.Handler

	mu      sync.Mutex
	pages   map[string]*[2][]byte // by what was asked
	records int64
	marked  int64
	version int64
}

// turn goes to the other version n times.
func (r *recorded) turn(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version += n
}

func (r *recorded) changing() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.marked
}

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var q struct{ Stime, Etime, Page any }
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := fmt.Sprint(q.Stime, q.Etime, q.Page)
	page, known := r.pages[asked]
	if !known {
		if page, err = r.record(req, body); err != nil {
			return nil, err
		}
		r.pages[asked] = page
	}
	answer := page[r.version%2]
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(answer)), Body: io.NopCloser(bytes.NewReader(answer)), Request: req,
	}, nil
}

// record asks the service, and makes the other version of its answer.
func (r *recorded) record(req *http.Request, body []byte) (*[2][]byte, error) {
	asked, got := httptest.NewRequest(req.Method, req.URL.Path, bytes.NewReader(body)), httptest.NewRecorder()
	asked.Header = req.Header
	r.service.ServeHTTP(got, asked)
	first := got.Body.Bytes()
	envelope, err := openapi.ParseEnvelope(first)
	if err != nil {
		return nil, err
	}
	list, err := openapi.SplitOrders(envelope.Data)
	if err != nil {
		return nil, err
	}
	second := bytes.Clone(first)
	for _, raw := range list.Records {
		if r.records++; r.records%changedShare == 0 {
			r.marked++
			mark := bytes.Replace(raw, []byte(`"ProgramName":"`), []byte(`"ProgramName":"* `), 1)
			second = bytes.Replace(second, raw, mark, 1)
		}
	}
	return &[2][]byte{first, second}, nil
}
