package console_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

func orderPath(e schema.Event) string { return "/orders/" + e.Key().String() }

// Every page shows its data, as text.
func TestPages(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	for target, wants := range map[string][]string{
		"/": {
			`aria-current="page">Overview`, "<svg", `role="img"`, `class="pending"`, `class="approved"`, "The same as a table", "timeout " + script,
			"Account main cannot be polled", "Sink archive fails", "Endpoint partner/a is broken", "partner/a has 30 events in the dead letters", "1 hour ago", `href="/webhooks/partner%2Fa"`,
		},
		"/orders":                        {"61 orders, page 1 of 2", `href="/orders?page=2"`, "SN-000059", "Approved", "Pending", `aria-current="page">Orders`},
		"/orders?page=2":                 {script, image, `href="/orders?page=1"`},
		"/orders?page=999":               {"No orders match", "61 orders"},
		orderPath(hostile()):             {script, image, "Asia/Shanghai", "2026-11-01 16:01:00 CST", `title="2026-11-01 08:01:00.000 UTC"`, "<b>old</b>", "<i>new</i>", "line 1, ItemName", "status.changed", "{{.}}"},
		"/webhooks":                      {"partner/a", "http://127.0.0.1:9", "1 hour ago"},
		"/webhooks/partner%2Fa":          {image, "failed", "Pause", "Parked orders", script},
		"/webhooks/partner%2Fa?order=no": {"No attempts match"},
		"/deadletters":                   {"HTTP 500 " + script, "order.created", "archive", `rel="next"`},
		"/deadletters?sink=archive":      {"archive", "HTTP 500"},
	} {
		a := w.get(t, target)
		text := html.UnescapeString(a.body)
		if a.code != http.StatusOK {
			t.Errorf("%s: HTTP %d: %s", target, a.code, a.body)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) && !strings.Contains(a.body, want) {
				t.Errorf("%s: no %q", target, want)
			}
		}
	}
	if a := w.get(t, "/deadletters?sink=archive"); strings.Contains(a.body, ">partner/a<") {
		t.Error("dead letters of another sink are shown")
	}
}

// Dead letters are turned page by page, each once.
func TestDeadLetterPages(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	rows, pages := 0, 0
	for target := "/deadletters"; target != ""; pages++ {
		a := w.get(t, target)
		rows += strings.Count(a.body, `<th scope="row"`)
		_, rest, found := strings.Cut(a.body, `<a href="/deadletters?before=`)
		target = ""
		if place, _, _ := strings.Cut(rest, `"`); found {
			target = "/deadletters?before=" + html.UnescapeString(place)
		}
	}
	if rows != 60 || pages != 2 {
		t.Errorf("%d letters on %d pages", rows, pages)
	}
}

// Attempts are turned page by page, each once, and all of them are in the file.
func TestAttemptPages(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	e := hostile()
	attempts := w.log.Attempts(jetstream.AttemptsConfig{})
	for n := range 119 {
		attempts.Record(pipeline.Attempt{
			At: time.Now().Add(time.Duration(n) * time.Millisecond), Endpoint: "partner/a", Key: e.Key(), EventID: e.ID, Type: e.Type, Version: 1, Sequence: 1, Number: n + 2, Outcome: pipeline.OutcomeFailed,
		})
	}
	attempts.Close(t.Context())
	rows := 0
	for page, more := range []bool{true, true, false} {
		a := w.get(t, fmt.Sprintf("/webhooks/partner%%2Fa?outcome=failed&page=%d", page+1))
		rows += strings.Count(a.body, `<th scope="row"`)
		if strings.Contains(a.body, `rel="next"`) != more || strings.Contains(a.body, `rel="prev"`) != (page > 0) {
			t.Errorf("page %d: %s", page+1, a.body)
		}
	}
	file := w.get(t, "/webhooks/partner%2Fa?format=csv&page=2")
	if rows != 120 || strings.Count(file.body, "\n") != 121 {
		t.Errorf("%d attempts on pages, %d lines in the file", rows, strings.Count(file.body, "\n"))
	}
	if a := w.get(t, "/webhooks/partner%2Fa?page=999999"); !strings.Contains(a.body, "No attempts match") {
		t.Error("there are attempts on a page far behind")
	}
}

// What a stranger types is a text: in the query as in the page.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	values := []string{`' OR '1'='1"; DROP TABLE commission_orders; --`, script + image, "\x00\xff" + strings.Repeat("9", 40), image, "%", "_", "\x00", "\xff", strings.Repeat("9", 40), "-1"}
	for target, names := range map[string][]string{
		"/orders":               {"order", "account", "program", "sub_id", "status", "page", "website", "link", "currency", "estimated", "sort"},
		"/webhooks/partner%2Fa": {"order", "event", "sort"}, "/deadletters": {"sink", "before", "sort"}, "/": {"sort-sinks", "table"},
		"/accounts": {"sort-gaps", "page"}, "/archive": {"sort", "page"}, "/archive/files": {"account", "day", "sort", "page"},
		"/ledger": {"account", "sort"}, "/ledger/waiting": {"account", "program", "page", "sort-overdue"}, "/ledger/programs": {"account", "program", "sort-settled"},
		"/ledger/earnings": {"account", "program", "website", "sub_id", "link", "currency", "status", "by", "page", "sort"},
		"/ledger/postings?month=2026-11&part=movement&x": {"account", "ledger_account", "currency", "page", "sort"},
	} {
		all := values
		if target != "/orders" && target != "/webhooks/partner%2Fa" && target != "/deadletters" {
			all = values[:3] // what is behind these fields is the same
		}
		for _, name := range names {
			for _, value := range all {
				joint := "?"
				if strings.Contains(target, "?") {
					joint = "&"
				}
				a := w.get(t, target+joint+url.Values{name: {value}}.Encode())
				if a.code != http.StatusOK {
					t.Errorf("%s?%s=%q: HTTP %d: %s", target, name, value, a.code, a.body)
				}
				if target == "/orders" && name != "page" && name != "sort" && strings.Contains(value, "' OR") && !strings.Contains(a.body, "No orders match") {
					t.Errorf("%s?%s=%q finds orders", target, name, value)
				}
			}
		}
	}
	if a := w.get(t, "/orders?"+url.Values{"order": {script}}.Encode()); !strings.Contains(a.body, ">1 order<") {
		t.Error("the order of that number is not found")
	}
	if a := w.get(t, "/orders"); !strings.Contains(a.body, "61 orders") {
		t.Error("the books have changed")
	}
	for target, code := range map[string]int{
		"/orders?from=soon": 400, "/orders?by=night": 400, "/orders?outcome=" + url.QueryEscape(script): 400, "/orders?without=password": 400, "/orders?with=" + url.QueryEscape("day;--"): 400,
		"/ledger?month=" + url.QueryEscape(script): 400, "/ledger?month=2026-13": 400, "/ledger/earnings?group=" + url.QueryEscape(script): 400, "/ledger/earnings?to=soon": 400,
		"/ledger/postings?month=" + url.QueryEscape("2026-11' OR 1=1"): 400, "/ledger/nothing": 404, "/webhooks/partner%2Fa?outcome=" + url.QueryEscape(script): 400, "/webhooks/nobody": 404, "/nothing" + url.PathEscape(script): 404,
		"/orders/x": 404, "/orders/main.1042.nobody": 404, "/orders/" + url.PathEscape(script): 404, "/assets/frame.html": 404, "/assets/../console.go": 307, "/favicon.ico": 404,
	} {
		if a := w.get(t, target); a.code != code {
			t.Errorf("%s: HTTP %d, want %d", target, a.code, code)
		}
	}
}

// Tables are exported, and no cell is a formula.
func TestExport(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	for target, rows := range map[string]int{
		"/?format=csv&table=days": 31, "/?format=csv&table=sinks": 1, "/?format=csv&table=endpoints": 1, "/?format=csv&table=accounts": 1,
		"/orders?format=csv": 61, "/orders?format=csv&status=Approved": 21, orderPath(hostile()) + "?format=csv": 4, orderPath(hostile()) + "?format=csv&table=lines": 1, "/webhooks?format=csv": 1,
		"/webhooks/partner%2Fa?format=csv": 1, "/deadletters?format=csv": 60, "/?format=csv&table=minutes": 61, "/accounts?format=csv&table=accounts": 1, "/accounts?format=csv&table=gaps": 0,
		"/archive?format=csv": 1, "/archive/files?format=csv": 1, "/ledger/earnings?format=csv&group=status": 3, "/ledger/waiting?format=csv&table=ageing": 1,
		"/ledger/waiting?format=csv&table=overdue": 19, "/ledger/programs?format=csv&table=reversals": 1,
	} {
		a := w.get(t, target)
		all, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
		if err != nil || len(all) != rows+1 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/csv") || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %v, %d rows, %v", target, err, len(all)-1, a.header)
		}
		for _, row := range all {
			for _, cell := range row {
				if cell != "" && strings.ContainsAny(cell[:1], "=+@") {
					t.Errorf("%s: %q", target, cell)
				}
			}
		}
	}
	e := pipelinetest.Event("main", 1, 1)
	d := e.Data
	d.Order.OrderSn, d.Order.SubID = schema.NewText("+1"), schema.NewText("=1+1")
	d.Order.WebsiteID = schema.NewText("@x")
	e = schema.NewEvent(schema.OrderCreated, d)
	e2 := e.Data
	e2.Version, e2.Changes = 2, []schema.Change{{Path: "/SubID", From: []byte(`"=1+1"`), To: []byte(`"-1+1"`)}, {Path: "/SiterCommission", From: []byte(`"-1.50"`), To: []byte(`"\t=1"`)}}
	entries(t, w.log, e, schema.NewEvent(schema.OrderUpdated, e2))
	a := w.get(t, orderPath(e)+"?format=csv")
	for _, want := range []string{",'=1+1,'-1+1\n", ",-1.50,'\t=1\n"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %q in:\n%s", want, a.body)
		}
	}
}

// Without books and without anything in them, the pages say so.
func TestNoBooks(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	w.books = errors.New("there are no books yet " + script)
	for _, target := range []string{"/", "/orders", "/ledger", "/ledger/earnings", "/ledger/waiting", "/ledger/programs", "/ledger/postings?month=2026-11&part=movement"} {
		if a := w.get(t, target); a.code != http.StatusOK || !strings.Contains(a.body, "there are no books yet") {
			t.Errorf("%s: HTTP %d", target, a.code)
		}
	}
}

// Before anything has come, every page says what is to come, and shows no empty table.
func TestNothingYet(t *testing.T) {
	t.Parallel()
	w := openWith(t, "", "http://127.0.0.1:9/", nil)
	for target, want := range map[string]string{
		"/": "They are drawn here when the first have come", "/orders": "They come with the first poll", "/ledger": "What orders are worth is posted when", "/ledger/earnings": "They come with the first poll",
		"/ledger/waiting": "Nothing is pending", "/ledger/programs": "as soon as their orders come", "/accounts": "No window has been read yet", "/webhooks/partner%2Fa": "Nothing has been sent here yet",
		"/archive": "The first is written soon", "/archive/files": "The first is written soon", "/deadletters": "nothing has been given up",
	} {
		if a := w.get(t, target); a.code != http.StatusOK || !strings.Contains(a.body, want) || strings.Contains(a.body, "<tbody") && strings.Count(a.body, "<tbody") != strings.Count(a.body, "<tbody role=\"rowgroup\">\n<tr") {
			t.Errorf("%s: HTTP %d, no %q, or an empty table: %s", target, a.code, want, a.body)
		}
	}
	if a := w.get(t, "/orders?order=x"); !strings.Contains(a.body, "No orders match") {
		t.Error("a search that finds nothing speaks of something else")
	}
}

// An endpoint is paused, resumed and tested by forms, and events are sent again
// only by the form behind a dry run.
func TestForms(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(receiver.Close)
	w := open(t, "", receiver.URL)
	const one = "/webhooks/partner%2Fa"
	page := w.get(t, one)
	csrf := page.form(t)
	post := func(path string, form url.Values) answer {
		form.Set("csrf", csrf)
		return w.ask(t, http.MethodPost, one+path, form, nil)
	}
	if a := post("/pause", url.Values{"reason": {"why " + script}}); a.code != http.StatusSeeOther || a.header.Get("Location") != one {
		t.Errorf("pause: HTTP %d: %s", a.code, a.body)
	}
	if v, err := w.manager.Get(t.Context(), "partner/a"); err != nil || v.State != "paused" || v.Reason != "why "+script {
		t.Errorf("%v: %+v", err, v)
	}
	if a := w.get(t, one); !strings.Contains(html.UnescapeString(a.body), "why "+script) {
		t.Error("the reason is not shown")
	}
	if a := post("/resume", url.Values{}); a.code != http.StatusSeeOther {
		t.Errorf("resume: HTTP %d", a.code)
	}
	if v, err := w.manager.Get(t.Context(), "partner/a"); err != nil || v.State != "active" {
		t.Errorf("%v: %+v", err, v)
	}
	if a := post("/test", url.Values{}); a.code != http.StatusOK || !strings.Contains(a.body, "The test event failed") || !strings.Contains(a.body, "418") {
		t.Errorf("test: HTTP %d: %s", a.code, a.body)
	}
	if a := post("/pause", url.Values{"reason": {strings.Repeat("x", 501)}}); a.code != http.StatusBadRequest {
		t.Errorf("a long reason: HTTP %d", a.code)
	}
	dry := post("/replay", url.Values{"from": {"5"}, "until": {"9"}, "since": {"2026-11-01T08:00"}, "rate": {"50/s"}, "order": {script}})
	if dry.code != http.StatusOK || len(w.asked) != 1 || !w.asked[0].DryRun || w.asked[0].From != 5 || w.asked[0].Order != script || w.asked[0].Since.IsZero() ||
		!strings.Contains(dry.body, "Send 1234 events again") || !strings.Contains(dry.body, `name="from" value="5"`) || !strings.Contains(dry.body, "12s") {
		t.Errorf("HTTP %d, asked %+v: %s", dry.code, w.asked, dry.body)
	}
	if a := post("/replay", url.Values{"from": {"5"}, "send": {"yes"}}); a.code != http.StatusOK || len(w.asked) != 2 || w.asked[1].DryRun || strings.Contains(a.body, "again</button>") {
		t.Errorf("HTTP %d, asked %+v: %s", a.code, w.asked, a.body)
	}
	if a := post("/replay", url.Values{"from": {"99"}, "send": {"yes"}}); !strings.Contains(a.body, "It ended before its end") || !strings.Contains(a.body, "101") {
		t.Errorf("HTTP %d: %s", a.code, a.body)
	}
	for _, form := range []url.Values{{}, {"from": {"x"}}, {"from": {"9"}, "until": {"5"}}, {"since": {"soon"}}, {"failures": {"yes"}, "rate": {"fast"}}} {
		if a := post("/replay", form); a.code != http.StatusBadRequest || len(w.asked) != 3 {
			t.Errorf("%v: HTTP %d", form, a.code)
		}
	}
}
