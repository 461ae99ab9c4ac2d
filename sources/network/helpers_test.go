package network_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
	"github.com/orderwire/orderwire/sources/network/networktest"
	"github.com/orderwire/orderwire/sources/openapi"
)

// The first publisher of every fixture, and the names of its operations.
const (
	appKey    = "2312521"
	appSecret = "s3cr3t"
	website   = "1026"

	linksPost    = "svc.service.links.post"
	ordersQuery  = "svc.open-service.orders.query.get"
	ordersDetail = "svc.open-service.orders.detail.get"
)

// epoch is when the clock of a test starts: 2026-11-12 08:00:00 in Shanghai.
var epoch = time.Date(2026, 11, 12, 0, 0, 0, 0, time.UTC)

// clock is a clock that a test sets.
type clock struct{ unix atomic.Int64 }

func (c *clock) Now() time.Time          { return time.Unix(c.unix.Load(), 0) }
func (c *clock) advance(d time.Duration) { c.unix.Add(int64(d / time.Second)) }

// fixture is a service behind an HTTP server.
type fixture struct {
	tb     testing.TB
	clock  *clock
	db     string
	svc    *network.Service
	server *httptest.Server
}

// start opens a service with one publisher and serves it. The settings are
// changed by edit, which may be nil.
func start(tb testing.TB, edit func(*network.Config)) *fixture {
	tb.Helper()
	f := open(tb, edit)
	f.server = httptest.NewServer(f.svc.Handler())
	tb.Cleanup(f.server.Close)
	return f
}

// open is start without the server.
func open(tb testing.TB, edit func(*network.Config)) *fixture {
	tb.Helper()
	f := &fixture{tb: tb, clock: &clock{}, db: networktest.Database(tb)}
	f.clock.unix.Store(epoch.Unix())
	config := network.Config{DB: f.db, Now: f.clock.Now}
	if edit != nil {
		edit(&config)
	}
	var err error
	if f.svc, err = network.Open(tb.Context(), config); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.svc.Close(); err != nil {
			tb.Error(err)
		}
	})
	f.publisher(network.Publisher{AppKey: appKey, AppSecret: appSecret, Websites: []string{website, "1027"}})
	return f
}

func (f *fixture) publisher(p network.Publisher) {
	f.tb.Helper()
	if err := f.svc.AddPublisher(context.Background(), p); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *fixture) simulator(config network.SimulatorConfig, orders int64) *network.Simulator {
	f.tb.Helper()
	sim, err := f.svc.Simulator(config)
	if err != nil {
		f.tb.Fatal(err)
	}
	if err := sim.Seed(context.Background(), orders); err != nil {
		f.tb.Fatal(err)
	}
	return sim
}

// answer is what came back for a request.
type answer struct {
	HTTP    int
	Status  network.Status
	Message string
	Data    json.RawMessage
	header  http.Header
	body    []byte
}

// post sends a body as it is.
func (f *fixture) post(path string, body []byte) answer {
	f.tb.Helper()
	return f.do(http.MethodPost, path, bytes.NewReader(body), "application/json")
}

func (f *fixture) do(method, path string, body io.Reader, contentType string) answer {
	f.tb.Helper()
	req, err := http.NewRequest(method, f.server.URL+path, body)
	if err != nil {
		f.tb.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return f.send(req)
}

func (f *fixture) send(req *http.Request) answer {
	f.tb.Helper()
	res, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		f.tb.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		f.tb.Fatal(err)
	}
	a := answer{HTTP: res.StatusCode, header: res.Header, body: raw}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &a); err != nil {
			f.tb.Fatalf("answer is no envelope: %v in %.200q", err, raw)
		}
	}
	return a
}

type params map[string]any

// signed returns the body of a call, signed with a secret. Timestamp is the
// fixture's clock unless the parameters hold one.
func (f *fixture) signed(key, secret, service string, p params) []byte {
	f.tb.Helper()
	all := params{"Timestamp": f.clock.unix.Load()}
	maps.Copy(all, p)
	body, err := json.Marshal(all)
	if err != nil {
		f.tb.Fatal(err)
	}
	return f.signBody(key, secret, service, body)
}

// signBody appends the signature to a JSON object.
func (f *fixture) signBody(key, secret, service string, body []byte) []byte {
	f.tb.Helper()
	signed, err := signBody(key, secret, service, body)
	if err != nil {
		f.tb.Fatal(err)
	}
	return signed
}

func signBody(key, secret, service string, body []byte) ([]byte, error) {
	sign, err := openapi.Sign(secret, "/"+key+"/"+service, body, openapi.PlainAmpersand)
	if err != nil {
		return nil, err
	}
	separator := ","
	if string(body) == "{}" {
		separator = ""
	}
	return fmt.Appendf(nil, `%s%s"Sign":%q}`, body[:len(body)-1], separator, sign), nil
}

// call makes a signed call as the first publisher.
func (f *fixture) call(service string, p params) answer {
	f.tb.Helper()
	return f.callAs(appKey, appSecret, service, p)
}

func (f *fixture) callAs(key, secret, service string, p params) answer {
	f.tb.Helper()
	return f.post("/"+key+"/"+service, f.signed(key, secret, service, p))
}

// page is the Data of a list.
type page struct {
	List                  []json.RawMessage
	Total, Page, PageSize int64
}

// list reads a page, which must succeed.
func (f *fixture) list(p params) page {
	f.tb.Helper()
	a := f.call(ordersQuery, p)
	var data page
	if a.Status != network.StatusSuccess {
		f.tb.Fatalf("list: Status %d: %s", a.Status, a.Message)
	}
	if err := json.Unmarshal(a.Data, &data); err != nil {
		f.tb.Fatal(err)
	}
	return data
}

// walk reads all orders of the last days, day by day and page by page.
func (f *fixture) walk(days int, p params) []json.RawMessage {
	f.tb.Helper()
	var all []json.RawMessage
	now := f.clock.unix.Load()
	for from := now - int64(days)*86400; from <= now; from += 86400 {
		for number := 1; ; number++ {
			q := params{"Stime": from, "Etime": from + 86399, "Page": number, "PageSize": 200}
			maps.Copy(q, p)
			data := f.list(q)
			all = append(all, data.List...)
			if len(data.List) < 200 {
				break
			}
		}
	}
	return all
}

// query runs a query on the fixture's database and returns its rows.
func (f *fixture) query(query string, args ...any) [][]any {
	f.tb.Helper()
	db := networktest.Open(f.tb, f.db)
	defer db.Close()
	rows, err := db.Query(network.Rebind(f.db, query), args...)
	if err != nil {
		f.tb.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		f.tb.Fatal(err)
	}
	var all [][]any
	for rows.Next() {
		row := make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			f.tb.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		f.tb.Fatal(err)
	}
	return all
}

// exec runs a statement on the fixture's database.
func (f *fixture) exec(statement string) {
	f.tb.Helper()
	db := networktest.Open(f.tb, f.db)
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		f.tb.Fatal(err)
	}
}

// number is query for a single number.
func (f *fixture) number(query string, args ...any) int64 {
	f.tb.Helper()
	n, ok := f.query(query, args...)[0][0].(int64)
	if !ok {
		f.tb.Fatalf("%s gives no number", query)
	}
	return n
}
