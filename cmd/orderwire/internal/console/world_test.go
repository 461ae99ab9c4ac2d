package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/console"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
)

const (
	script = `<script>alert('x')</script>`
	image  = `"><img src=x onerror=alert(1)>`
	token  = "t0ken"
)

// world is a console over a log and books of its own.
type world struct {
	handler http.Handler
	manager *endpoints.Manager
	log     *jetstream.Log
	asked   []replay.Request
	status  line.Status
	books   error // why there are none
	ledger  *commission.Books
	shelf   *archive.Search

	unshelved error // why there is no archive
}

// Inventory implements [console.Archive].
func (w *world) Inventory(ctx context.Context) (archive.Inventory, error) {
	if w.unshelved != nil {
		return archive.Inventory{}, w.unshelved
	}
	return w.shelf.Inventory(ctx)
}

// Verified implements [console.Archive].
func (w *world) Verified(ctx context.Context) (*archive.Verified, error) {
	return w.shelf.Verified(ctx)
}

// Status implements [console.Line].
func (w *world) Status(context.Context) (line.Status, error) { return w.status, nil }

// Replay implements [api.Replayer].
func (w *world) Replay(_ context.Context, name string, q replay.Request) (replay.Report, error) {
	w.asked = append(w.asked, q)
	report := replay.Report{To: name, DryRun: q.DryRun, Events: 1234, First: 5, Last: 9, Rate: 100, Seconds: 12.3, Types: map[schema.EventType]uint64{schema.OrderCreated: 1234}}
	if q.From == 99 {
		report.Next = 101
		return report, errors.New("it stopped " + script)
	}
	return report, q.Check()
}

func hostile() schema.Event {
	e := pipelinetest.Event("main", 1, 1)
	d := e.Data
	d.Order.OrderSn, d.Order.SubID, d.Order.ProgramName = schema.NewText(script), schema.NewText(image), schema.NewText("=cmd|' /C calc'!A0")
	d.Order.Details = []schema.OrderLine{{ItemID: schema.NewText("1"), ItemName: schema.NewText(image), ShopTitle: schema.NewText("{{.}}")}}
	return schema.NewEvent(schema.OrderCreated, d)
}

// later is the version behind an event.
func later(e schema.Event) schema.Event {
	d := e.Data
	d.Version, d.ObservedAt = 2, d.ObservedAt.Add(time.Hour)
	d.Order.Status = schema.NewText("2")
	d.Changes = []schema.Change{
		{Path: "/Status", From: jsontext.Value(`"0"`), To: jsontext.Value(`"2"`)},
		{Path: "/Details/0/ItemName", From: jsontext.Value(`"<b>old</b>"`), To: jsontext.Value(`"<i>new</i>"`)},
	}
	return schema.NewEvent(schema.StatusChanged, d)
}

// entries publishes events and returns them as the log has them.
func entries(tb testing.TB, log *jetstream.Log, events ...schema.Event) (all []schema.Entry) {
	tb.Helper()
	end, err := log.Last(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	last := make(map[string]uint64)
	for i := range events {
		m, err := pipeline.NewMessage(&events[i], last[events[i].Subject], 0)
		if err != nil {
			tb.Fatal(err)
		}
		if err := log.Publisher().Publish(pipeline.Topic, []*message.Message{m}...); err != nil {
			tb.Fatal(err)
		}
		end++
		last[events[i].Subject] = end
		all = append(all, schema.Entry{Sequence: end, Event: events[i]})
	}
	return all
}

// open makes a world: 60 orders and a hostile one with two events, an endpoint of
// the file, a dead letter and an attempt.
func open(tb testing.TB, secret, receiver string) *world {
	tb.Helper()
	events := []schema.Event{hostile(), later(hostile())}
	for n := range 60 {
		e := pipelinetest.Event("main", n, 1)
		e.Data.Order.OrderTime = schema.NewText(time.Now().UTC().AddDate(0, 0, -n%20).Format(time.DateTime))
		e.Data.Order.Status, e.Data.Order.SiterCommission = schema.NewText(fmt.Sprint(n%3)), schema.MoneyFromCents(12345)
		e.Data.Order.ConfirmSiterCommission = schema.MoneyFromCents(678)
		events = append(events, e)
	}
	return openWith(tb, secret, receiver, events)
}

// openWith makes a world with these events in the log, the books and the archive.
func openWith(tb testing.TB, secret, receiver string, events []schema.Event) *world {
	tb.Helper()
	return openBehind(tb, api.Gate{Token: secret, Listen: "127.0.0.1:8080"}, receiver, events)
}

// openBehind does so behind a gate.
func openBehind(tb testing.TB, gate api.Gate, receiver string, events []schema.Event) *world {
	tb.Helper()
	c, err := config.Parse("f.yaml", fmt.Appendf(nil, `webhooks:
  - {name: partner/a, url: '%s', allow_private: true, secret: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='}
accounts:
  - {name: main, base_url: 'https://example.com', app_key: k, app_secret: s}
`, receiver))
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{log: pipelinetest.Log(tb, pipelinetest.Server(tb, tb.TempDir()).URL())}
	w.manager = endpoints.New(c, w.log, nil)
	stored := entries(tb, w.log, events...)
	w.ledger, err = commission.Open(tb.Context(), filepath.Join(tb.TempDir(), "commission.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.ledger.Close() })
	if err := w.ledger.Write(tb.Context(), stored); err != nil {
		tb.Fatal(err)
	}
	w.shelve(tb, stored)
	if len(stored) > 0 {
		w.trouble(tb, stored[0])
	}
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		tb.Fatal(err)
	}
	w.handler = console.New(console.Config{
		Line: w, Log: w.log, Webhooks: w.manager, Replay: w, Gate: gate,
		Books: func(context.Context) (console.Books, error) { return w.ledger, w.books },
		Attempts: func(ctx context.Context, q endpoints.Query) ([]endpoints.Attempt, error) {
			return endpoints.Attempts(ctx, w.log, q)
		},
		Archive: w, Zones: map[string]*time.Location{"main": shanghai},
	})
	return w
}

// shelve puts events into an archive, and notes a verification that found something.
func (w *world) shelve(tb testing.TB, stored []schema.Entry) {
	tb.Helper()
	dir := tb.TempDir()
	a, err := archive.Open(tb.Context(), archive.Config{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range stored {
		stored[i].Stored = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	}
	if err := errors.Join(a.Write(tb.Context(), stored), a.Flush(tb.Context()), a.Close()); err != nil {
		tb.Fatal(err)
	}
	note := archive.Verified{
		At: time.Now().Add(-time.Hour), Rows: 62, Findings: 1, WithLog: true, Compared: 61, Gone: 1,
		First: []archive.Finding{{Kind: archive.StrayFile, Path: script, What: image, Do: "move it"}},
	}
	if err := archive.NoteVerified(tb.Context(), dir, note); err != nil {
		tb.Fatal(err)
	}
	if w.shelf, err = archive.OpenSearch(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.shelf.Close() })
}

// trouble is a dead letter, an attempt that failed, and a status that is bad.
func (w *world) trouble(tb testing.TB, e schema.Entry) {
	tb.Helper()
	key := e.Event.Key()
	for n := range 60 {
		letter := pipeline.DeadLetter{Sink: "partner/a", Reason: "HTTP 500 " + script, Subject: key.Subject(schema.OrderCreated), Sequence: uint64(n + 1), Attempts: 3, Raw: []byte("secret payload")}
		if n%2 == 1 {
			letter.Sink = "archive"
		}
		if err := w.log.Bury(tb.Context(), letter); err != nil {
			tb.Fatal(err)
		}
	}
	attempts := w.log.Attempts(jetstream.AttemptsConfig{})
	attempts.Record(pipeline.Attempt{
		At: time.Now(), Duration: time.Millisecond, Endpoint: "partner/a", Key: key, EventID: e.Event.ID, Type: e.Event.Type, Version: 1, Sequence: 1,
		Number: 1, Outcome: pipeline.OutcomeFailed, Status: 500, Reason: image, Answer: []byte("answer of the receiver"), Next: time.Now().Add(time.Hour),
	})
	attempts.Close(tb.Context())
	w.status = line.Status{
		At: time.Now(), Last: 62, Orders: 61,
		Accounts: []line.Account{{Name: "main", Polls: 3, LastPoll: time.Now().Add(-time.Minute), Failure: "timeout " + script}},
		Sinks: []line.Sink{
			{Kind: "sink", Name: "archive", Position: 60, Lag: 2, Failure: "disk " + image},
			{Kind: "endpoint", Name: "partner/a", Position: 1, Lag: 61, Delivery: &line.Delivery{State: line.Broken, Parked: 7, Oldest: time.Now().Add(-time.Hour)}},
		},
	}
}

// answer is what came of a request.
type answer struct {
	code   int
	body   string
	header http.Header
}

// ask sends a request, and holds every answer to what all have.
func (w *world) ask(tb testing.TB, method, target string, form url.Values, change func(*http.Request)) answer {
	tb.Helper()
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(tb.Context(), method, "http://localhost"+target, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(r)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	a := answer{rec.Code, rec.Body.String(), rec.Header()}
	if csp := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") ||
		!strings.Contains(csp, "frame-ancestors 'none'") || a.header.Get("X-Content-Type-Options") != "nosniff" {
		tb.Errorf("%s %s: header %v", method, target, a.header)
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && a.code/100 != 3 {
		a.proper(tb, target)
	}
	if strings.Contains(a.body, "secret payload") || strings.Contains(a.body, "whsec_") || strings.Contains(a.body, "answer of the receiver") {
		tb.Errorf("%s %s shows what it must not", method, target)
	}
	return a
}

var (
	inline  = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=["']|javascript:|<script(?: [^>]*)?>[^<]|(?:src|href|action)="(?:https?:)?//`)
	headers = regexp.MustCompile(`<th scope="col"`)
	fields  = regexp.MustCompile(`<(?:input|select)[^>]*>`)
	ids     = regexp.MustCompile(`\sid="[^"]*"`)
)

// labelled reports whether a field stands in a label, or has one that names it.
func labelled(body string, at int, tag string) bool {
	before := body[:at]
	if strings.LastIndex(before, "<label") > strings.LastIndex(before, "</label>") {
		return true
	}
	_, id, found := strings.Cut(tag, `id="`)
	id, _, _ = strings.Cut(id, `"`)
	return found && strings.Contains(body, `<label for="`+id+`">`)
}

// proper holds a page to what all pages have.
func (a *answer) proper(tb testing.TB, target string) {
	tb.Helper()
	if found := inline.FindString(a.body); found != "" {
		tb.Errorf("%s: inline or foreign: %q", target, found)
	}
	for _, bad := range []string{script, image, "<img", "<b>old", "<i>new", "ZgotmplZ"} {
		if strings.Contains(a.body, bad) {
			tb.Errorf("%s: %q is not escaped", target, bad)
		}
	}
	for _, want := range []string{`<html lang="en">`, `href="#main"`, `<main id="main"`, "<h1>"} {
		if !strings.Contains(a.body, want) {
			tb.Errorf("%s: no %s", target, want)
		}
	}
	if strings.Count(a.body, "<h1>") != 1 || strings.Count(a.body, "<main ") != 1 {
		tb.Errorf("%s: more than one h1 or main", target)
	}
	for _, field := range fields.FindAllStringSubmatchIndex(a.body, -1) {
		if tag := a.body[field[0]:field[1]]; !strings.Contains(tag, `type="hidden"`) && !labelled(a.body, field[0], tag) {
			tb.Errorf("%s: a field without a label: %s", target, tag)
		}
	}
	seen := map[string]bool{}
	for _, id := range ids.FindAllString(a.body, -1) {
		if seen[id] {
			tb.Errorf("%s: twice: %s", target, id)
		}
		seen[id] = true
	}
	if tables := strings.Count(a.body, "<table"); tables != strings.Count(a.body, "<caption>") || tables > 0 && !headers.MatchString(a.body) {
		tb.Errorf("%s: a table without a caption or heads", target)
	}
}

func (w *world) get(tb testing.TB, target string) answer {
	tb.Helper()
	return w.ask(tb, http.MethodGet, target, nil, nil)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([0-9a-f]{64})"`)

// form returns the token of the forms of a page.
func (a *answer) form(tb testing.TB) string {
	tb.Helper()
	m := csrfField.FindStringSubmatch(a.body)
	if m == nil {
		tb.Fatalf("no form in:\n%s", a.body)
	}
	return m[1]
}

func (a *answer) cookie(name string) *http.Cookie {
	all := (&http.Response{Header: a.header}).Cookies()
	if at := slices.IndexFunc(all, func(c *http.Cookie) bool { return c.Name == name }); at >= 0 {
		return all[at]
	}
	return nil
}
