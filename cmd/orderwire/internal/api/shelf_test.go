package api_test

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
	"github.com/orderwire/orderwire/sources/openapi"
)

// shelf holds what the lists and reports are made of; nothing by default.
type shelf struct {
	books   *commission.Reader // nil: there are none
	dsn     string
	entries []schema.Entry
	letters []pipeline.Buried
	rates   string // a file, "" for none
	place   string // of the archive

	statistics []openapi.Statistic
}

func (f *fake) config(q request) api.Config {
	return api.Config{
		Line: f, Webhooks: f, Attempts: f.attempts, Replay: f, Log: f, Rates: report.RatesIn(f.rates),
		Gate:     api.Gate{Token: q.token, Listen: q.listen, Header: q.proxied, Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}},
		Networks: []report.Network{{Account: "main", Statistics: f.Statistics}},
		Books: func(context.Context) (*commission.Reader, error) {
			if f.books == nil {
				return nil, report.ErrNoBooks
			}
			return f.books, nil
		},
		CloseMonth: func(ctx context.Context, month string) (*commission.Closing, error) {
			return report.CloseMonth(ctx, f.dsn, time.UTC, month, time.Now())
		},
		Archive: func(ctx context.Context) (*report.Archive, error) { return report.ArchiveAt(ctx, f.place) },
	}
}

func (f *fake) Statistics(_ context.Context, q openapi.StatisticsQuery) ([]openapi.Statistic, error) {
	f.asked = append(f.asked, fmt.Sprintf("%+v", q))
	return f.statistics, f.err
}

func (f *fake) Next(_ context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error) {
	for _, e := range f.entries {
		if e.Sequence < from || e.Subject != key.Subject(schema.StatusChanged) {
			continue
		}
		if e.Event.ID == "" {
			return e, true, pipeline.ErrPoison
		}
		return e, true, nil
	}
	return schema.Entry{}, false, f.err
}

func (f *fake) Load(_ context.Context, key schema.OrderKey) (pipeline.State, error) {
	if key.OrderSn == "aged" {
		e := f.entries[0].Event
		return pipeline.State{Event: &e}, nil
	}
	return pipeline.State{}, f.err
}

func (f *fake) NewestDead(_ context.Context, sink string, before uint64, limit int) (all []pipeline.Buried, next uint64, err error) {
	for _, d := range slices.Backward(f.letters) {
		if (sink == "" || d.Sink == sink) && (before == 0 || d.Place < before) {
			if len(all) == limit {
				return all, all[limit-1].Place, nil
			}
			all = append(all, d)
		}
	}
	return all, 0, f.err
}

// stocked has books of three orders in two currencies and months, with their events,
// two dead letters, and an archive.
func stocked(tb testing.TB) *fake {
	tb.Helper()
	f := &fake{}
	f.dsn, f.place = filepath.Join(tb.TempDir(), "commission.db"), filepath.Join(tb.TempDir(), "archive")
	text, cents := schema.NewText, schema.MoneyFromCents
	for i, e := range []struct {
		sn, status string
		version    uint64
		seen       string
	}{{"a/1", "0", 1, "2026-03-05"}, {"b", "1", 1, "2026-03-06"}, {"<c>", "0", 1, "2026-03-31"}, {"<c>", "-1", 2, "2026-04-02"}} {
		seen, err := time.Parse(time.DateOnly, e.seen)
		if err != nil {
			tb.Fatal(err)
		}
		d := schema.Data{Account: "main", TimeZone: "UTC", Version: e.version, ObservedAt: seen, Order: schema.Order{
			ProgramID: text("77"), OrderSn: text(e.sn), SubID: text("s-" + e.sn), OrderTime: text("2026-03-01 10:00:00"), Status: text(e.status),
			OrdersPrice: cents(10_000), SiterCommission: cents(500), Currency: text("CNY"),
			ConfirmPrice: cents(1400), ConfirmSiterCommission: cents(70), ChargeCurrency: text("USD"),
		}}
		if e.version > 1 {
			d.Changes = []schema.Change{{Path: "/Status", From: jsontext.Value(`"0"`), To: jsontext.Value(`"-1"`)}}
		}
		entry := schema.Entry{Sequence: uint64(i + 1), Stored: seen, Event: schema.NewEvent(schema.StatusChanged, d)}
		key := entry.Event.Key()
		entry.Subject = key.Subject(schema.StatusChanged)
		f.entries = append(f.entries, entry)
	}
	books, err := commission.Open(tb.Context(), f.dsn)
	if err == nil {
		err = books.Write(tb.Context(), f.entries)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if err := books.Close(); err != nil {
		tb.Fatal(err)
	}
	if f.books, err = commission.OpenReader(tb.Context(), f.dsn); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.books.Close() })
	f.bury()
	f.file(tb)
	return f
}

func (f *fake) bury() {
	e := &f.entries[0]
	raw, _ := e.Event.AppendJSON(nil)
	for n := range 3 {
		letter := pipeline.Buried{At: at, Place: uint64(n + 1), DeadLetter: pipeline.DeadLetter{
			Sink: "partner/a", Reason: "HTTP 500", Subject: e.Subject, Sequence: 1, Attempts: 9, Raw: raw,
		}}
		if n == 2 {
			letter.DeadLetter = pipeline.DeadLetter{Sink: "poller.main", Reason: "no order number", Attempts: 1, Raw: []byte(`{"id":"secret payload"}`)}
		}
		f.letters = append(f.letters, letter)
	}
}

// file puts the events into an archive.
func (f *fake) file(tb testing.TB) {
	tb.Helper()
	a, err := archive.Open(tb.Context(), archive.Config{Dir: f.place})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err = a.Position(tb.Context()); err == nil {
		err = a.Write(tb.Context(), f.entries)
	}
	if err == nil {
		err = a.Flush(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	if err := a.Close(); err != nil {
		tb.Fatal(err)
	}
}

// line returns the nth line of a text, from 0, "" when it has fewer.
func lineOf(text string, n int) string {
	all := strings.Split(text, "\n")
	if n >= len(all) {
		return fmt.Sprintf("no line %d", n)
	}
	return all[n]
}
