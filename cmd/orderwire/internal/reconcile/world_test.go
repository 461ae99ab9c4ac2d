package reconcile

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
)

// now is when the comparison is made, and polled how far the account was read.
var (
	now    = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	polled = now.Add(-time.Hour)
)

// world is a log, books that have its beginning, and a network.
type world struct {
	tb     testing.TB
	log    *memoryLog
	net    *memoryNetwork
	config Config
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{tb: tb, log: &memoryLog{first: 1}, net: &memoryNetwork{shown: map[string]*shown{}}}
	books, err := commission.Open(tb.Context(), filepath.Join(tb.TempDir(), "books.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := books.Close(); err != nil {
			tb.Error(err)
		}
	})
	w.config = Config{
		Books: books.Reader, Against: []string{Log, Network}, Log: w.log, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
		Accounts: []Account{{Poll: poller.Account{Name: "main", Location: time.UTC}, Network: w.net}},
		Now:      func() time.Time { return now },
	}
	w.log.book = func(e schema.Entry) {
		if err := books.Write(tb.Context(), []schema.Entry{e}); err != nil {
			tb.Fatal(err)
		}
	}
	return w
}

// order is one in a state: its number, its status, and its commission in cents.
func order(sn, status string, cents int64) schema.Order {
	return schema.Order{
		ProgramID: schema.NewText("77"), OrderSn: schema.NewText(sn), OrderTime: schema.NewText("2026-03-10 10:00:00"), Status: schema.NewText(status),
		OrdersPrice: schema.MoneyFromCents(100 * cents), SiterCommission: schema.MoneyFromCents(cents), Currency: schema.NewText("CNY"),
		Details: []schema.OrderLine{},
	}
}

// logs adds an event of an order to the log, as it was observed before the account
// was read to its end, or at a time.
func (w *world) logs(o schema.Order, at ...time.Time) schema.Entry {
	w.tb.Helper()
	kind, version := schema.OrderUpdated, uint64(1)
	for _, e := range w.log.entries {
		if e.Event.Data.Order.OrderSn == o.OrderSn {
			version++
		}
	}
	if o.OrderTime.String() == "" {
		kind = schema.OrderVanished
	}
	observed := polled.Add(-24 * time.Hour)
	if len(at) > 0 {
		observed = at[0]
	}
	e := schema.NewEvent(kind, schema.Data{Account: "main", Version: version, TimeZone: "UTC", ObservedAt: observed, Order: o})
	entry := schema.Entry{Sequence: uint64(len(w.log.entries) + 1), Stored: observed, Subject: e.Key().Subject(kind), Event: e}
	w.log.entries = append(w.log.entries, entry)
	return entry
}

// books adds an event to the log that the books take. All of them come before those
// that the books do not take.
func (w *world) books(o schema.Order) {
	w.tb.Helper()
	w.log.book(w.logs(o))
}

// shows has the network show an order, last changed before the account was read or
// behind that.
func (w *world) shows(o schema.Order, changed bool) {
	at := polled.Add(-24 * time.Hour)
	if changed {
		at = polled.Add(time.Minute)
	}
	w.net.shown[o.OrderSn.String()] = &shown{order: o, listed: o, changed: at}
}

// compare runs the comparison and returns it with its differences.
func (w *world) compare() (Report, []Difference) {
	w.tb.Helper()
	r, err := Run(w.tb.Context(), w.config)
	if err != nil {
		w.tb.Fatal(err)
	}
	if r.Failed != nil {
		w.tb.Error(r.Failed)
	}
	var all []Difference
	for d, err := range r.Each() {
		if err != nil {
			w.tb.Fatal(err)
		}
		all = append(all, *d)
	}
	if err := r.Close(); err != nil {
		w.tb.Fatal(err)
	}
	return r.Report, all
}

// texts are differences in short.
func texts(all []Difference) []string {
	out := []string{}
	for _, d := range all {
		out = append(out, strings.TrimSpace(d.Against+" "+d.OrderSn+" "+strings.Join(d.Kinds, "+")+" "+d.Explained))
	}
	slices.Sort(out)
	return out
}

// side returns one of the comparisons.
func side(tb testing.TB, r *Report, name string) *Side {
	tb.Helper()
	at := slices.IndexFunc(r.Sides, func(s Side) bool { return s.Against == name })
	if at < 0 {
		tb.Fatalf("%+v has no %s", r, name)
	}
	return &r.Sides[at]
}

// memoryLog is a log whose account was read up to polled.
type memoryLog struct {
	entries []schema.Entry
	first   uint64 // older ones have aged out
	book    func(schema.Entry)
}

func (l *memoryLog) Bounds(context.Context) (first, last uint64, err error) {
	return l.first, uint64(len(l.entries)), nil
}

func (l *memoryLog) Follow(ctx context.Context, after uint64) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for _, e := range l.entries[max(after, l.first-1):] {
			m, err := pipeline.NewMessage(&e.Event, 0, 0)
			if err != nil {
				return
			}
			m.Metadata[pipeline.MetaSequence] = strconv.FormatUint(e.Sequence, 10)
			m.Metadata[pipeline.MetaStored] = strconv.FormatInt(e.Stored.UnixNano(), 10)
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (l *memoryLog) Load(_ context.Context, key schema.OrderKey) (pipeline.State, error) {
	for _, e := range slices.Backward(l.entries) {
		if e.Event.Key() == key {
			if e.Sequence < l.first {
				e.Sequence = 0
			}
			return pipeline.State{Event: &e.Event, Sequence: e.Sequence}, nil
		}
	}
	return pipeline.State{}, nil
}

func (l *memoryLog) LoadCursor(_ context.Context, _ string, v any) (bool, error) {
	return true, json.Unmarshal([]byte(`{"order_field": "UpdateTime", "to": "`+polled.Format(time.RFC3339)+`"}`), v)
}

func (l *memoryLog) SaveCursor(context.Context, string, any) error { return nil }

// shown is an order at the network.
type shown struct {
	listed   schema.Order // in lists
	order    schema.Order // when it is asked for by itself
	unlisted bool
	changed  time.Time
}

// memoryNetwork lists its orders on one page.
type memoryNetwork struct {
	shown map[string]*shown
	asked []string // orders that were asked for by themselves
}

func (n *memoryNetwork) Orders(_ context.Context, q openapi.OrdersQuery) (openapi.OrdersPage, error) {
	page := openapi.OrdersPage{Total: -1, AnsweredAt: now}
	for _, s := range n.shown {
		at := s.changed
		if q.OrderField == poller.CreationTime {
			at, _ = schema.ParseTime(s.listed.OrderTime, time.UTC)
		}
		if s.unlisted || at.Before(q.From) || at.After(q.To) {
			continue
		}
		raw, err := json.Marshal(s.listed)
		if err != nil {
			return page, err
		}
		page.Records = append(page.Records, jsontext.Value(raw))
	}
	return page, nil
}

func (n *memoryNetwork) Order(_ context.Context, _, sn string) (openapi.OrderAnswer, error) {
	n.asked = append(n.asked, sn)
	s := n.shown[sn]
	if s == nil {
		return openapi.OrderAnswer{}, openapi.ErrNotFound
	}
	raw, err := json.Marshal(s.order)
	return openapi.OrderAnswer{Raw: raw, AnsweredAt: now.Add(time.Second)}, err
}
