package console_test

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/poller"
)

// cover closes windows of an account: from hours ago to hours ago, in pairs.
func (w *world) cover(t *testing.T, account string, hours ...int) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	for i := 0; i+1 < len(hours); i += 2 {
		from := now.Add(-time.Duration(hours[i]) * time.Hour)
		c := poller.Coverage{From: from, To: now.Add(-time.Duration(hours[i+1]) * time.Hour), ClosedAt: now}
		if err := w.log.SaveCoverage(t.Context(), schema.EscapeToken(account)+"."+from.Format("20060102150405"), c); err != nil {
			t.Fatal(err)
		}
	}
}

// The accounts show what was read, and the gaps between, which need attention.
func TestCoverage(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	w.cover(t, "main", 100, 80, 80, 60, 61, 40)
	w.cover(t, script, 50, 40, 30, 20, 10, 0)
	a := w.get(t, "/accounts")
	text := html.UnescapeString(a.body)
	for _, want := range []string{script, "not here", `<rect class="gap"`, `<rect class="read"`, "10h0m0s", ">2 gaps<", "main, the last 31 days: 0 gaps in all, 3 windows read", "CST"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if a := w.get(t, "/"); !strings.Contains(html.UnescapeString(a.body), "Account "+script+" has 2 gaps in what was read") || !strings.Contains(a.body, "Covered from") {
		t.Error("the overview says nothing of the gaps")
	}
	if a := w.get(t, "/accounts?format=csv&table=gaps"); strings.Count(a.body, "\n") != 3 || !strings.Contains(a.body, ",36000\n") {
		t.Errorf("got %s", a.body)
	}
}

// The archive shows its partitions, its files, its last entry, and what the last
// verification found.
func TestArchive(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	for target, wants := range map[string][]string{
		"/archive":                           {"up to sequence 62", "in 1 partition", "batch", "1 to 62", "1 finding", script, image, "1 hour ago", "61 found in it, 1 no longer in it", "2026-11-01"},
		"/archive/files":                     {"00000000000000000001-00000000000000000062.parquet", ">1 file<"},
		"/archive/files?day=2026-11-01":      {">1 file<"},
		"/archive/files?account=nobody":      {"No files match"},
		"/archive/files?format=json":         {`"file": "account=main/event_date=2026-11-01/`, `"events": 62`},
		"/archive?format=csv":                {"Day (UTC),Account,Files,Events,Size,First sequence,Last sequence\n2026-11-01,main,1,62,"},
		"/archive/files?account=main&page=9": {"No files match", "1 file, page 9 of 1"},
	} {
		a := w.get(t, target)
		text := html.UnescapeString(a.body)
		for _, want := range wants {
			if a.code != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s: HTTP %d, no %q in %s", target, a.code, want, text)
			}
		}
	}
	if a := w.get(t, "/"); !strings.Contains(a.body, "The last verification of the archive found faults") {
		t.Error("the overview says nothing of the findings")
	}
}

// Without an archive the page says so.
func TestNoArchive(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	w.unshelved = errors.New("there is no archive " + script)
	for _, target := range []string{"/archive", "/archive/files"} {
		if a := w.get(t, target); a.code != http.StatusOK || !strings.Contains(a.body, "The archive cannot be read: there is no archive") {
			t.Errorf("%s: HTTP %d: %s", target, a.code, a.body)
		}
	}
}

// The viewer chooses a zone, which the browser keeps; what is none is refused, and
// the way back stays here.
func TestZone(t *testing.T) {
	t.Parallel()
	w := open(t, "", "http://127.0.0.1:9/")
	page := w.get(t, orderPath(hostile()))
	if !strings.Contains(page.body, "16:01:00 CST") || !strings.Contains(page.body, `name="back" value="`+html.EscapeString(orderPath(hostile()))+`"`) {
		t.Errorf("got %s", page.body)
	}
	post := func(zone, back string) answer {
		return w.ask(t, http.MethodPost, "/zone", url.Values{"csrf": {page.form(t)}, "zone": {zone}, "back": {back}}, nil)
	}
	a := post("Europe/Berlin", "/orders?status=0&sub_id=%26")
	cookie := a.cookie("orderwire_zone")
	if a.code != http.StatusSeeOther || a.header.Get("Location") != "/orders?status=0&sub_id=%26" || cookie == nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Fatalf("HTTP %d: %v", a.code, a.header)
	}
	berlin := func(r *http.Request) { r.AddCookie(cookie) }
	for target, want := range map[string]string{orderPath(hostile()): "09:01:00 CET", "/deadletters": " CE", "/webhooks/partner%2Fa": " CE", "/accounts": "<option selected>Europe/Berlin</option>"} {
		if a := w.ask(t, http.MethodGet, target, nil, berlin); !strings.Contains(a.body, want) {
			t.Errorf("%s: no %q", target, want)
		}
	}
	if a := post("", "/"); a.cookie("orderwire_zone") == nil || a.cookie("orderwire_zone").MaxAge >= 0 {
		t.Errorf("the account's zone again: %v", a.header)
	}
	for _, bad := range []string{"Nowhere/Land", script, "../../etc/passwd", "Local", strings.Repeat("x", 100), "/etc/localtime", "' OR 1=1"} {
		if a := post(bad, "/"); a.code != http.StatusBadRequest || a.cookie("orderwire_zone") != nil {
			t.Errorf("%q: HTTP %d", bad, a.code)
		}
		spoiled := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "orderwire_zone", Value: url.QueryEscape(bad)}) }
		if a := w.ask(t, http.MethodGet, orderPath(hostile()), nil, spoiled); a.code != http.StatusOK || !strings.Contains(a.body, "16:01:00 CST") {
			t.Errorf("cookie %q: HTTP %d", bad, a.code)
		}
	}
	for _, back := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", "evil", "", "http:evil", "/\t/evil", script} {
		if a := post("UTC", back); a.code != http.StatusSeeOther || a.header.Get("Location") != "/" {
			t.Errorf("back to %q leads to %q", back, a.header.Get("Location"))
		}
	}
}
