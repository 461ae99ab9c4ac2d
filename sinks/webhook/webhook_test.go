package webhook

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/orderwire/orderwire/schema"
)

// testSecret is 32 bytes with the values 0 to 31.
var testSecret = secretOf(32)

func secretOf(n int) string {
	key := make([]byte, n)
	for i := range key {
		key[i] = byte(i)
	}
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// personal stands in every test order, to be looked for in errors and logs.
const personal = "jane.doe@example.com"

// entry returns version v of an order as the log holds it.
func entry(t testing.TB, v uint64, edit ...func(*schema.Data)) *schema.Entry {
	t.Helper()
	d := schema.Data{
		Account: "main", TimeZone: "Asia/Shanghai", Version: v,
		ObservedAt: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
		Order: schema.Order{
			ProgramID: schema.NewText("77"), OrderSn: schema.NewText("SN-1"), SubID: schema.NewText(personal),
			Status: schema.NewText("1"), OrdersPrice: money(t, "12.50"),
		},
	}
	for _, f := range edit {
		f(&d)
	}
	kind := schema.StatusChanged
	if v == 1 {
		kind = schema.OrderCreated
	}
	e := schema.NewEvent(kind, d)
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return &schema.Entry{Sequence: v, Subject: e.Key().Subject(kind), Raw: raw, Event: e}
}

func money(t testing.TB, s string) schema.Money {
	t.Helper()
	m, err := schema.ParseMoney(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// delivery is a request as a receiver saw it.
type delivery struct {
	header http.Header
	body   []byte
}

// receiver records what it gets and answers as told.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []delivery
}

func newReceiver(t testing.TB, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got = append(r.got, delivery{req.Header.Clone(), body})
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.got...)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// endpoint returns an endpoint that may reach this host.
func endpoint(t testing.TB, url string, edit ...func(*Config)) *Endpoint {
	t.Helper()
	cfg := Config{Name: "partner-a", URL: url, Secret: testSecret, AllowPrivate: true}
	for _, f := range edit {
		f(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func deliver(t testing.TB, e *Endpoint, entry *schema.Entry) {
	t.Helper()
	if err := e.Deliver(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
}
