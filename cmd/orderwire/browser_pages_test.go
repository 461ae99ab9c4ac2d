package main_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/orderwire/orderwire/schema"
)

// Dead letters are listed by who has given up, and lead to their orders.
func browseDeadLetters(t *testing.T, _ *consoleWorld, b *tab) {
	b.open(t, "/")
	b.follow(t, "Dead letters")
	for sink, some := range map[string]bool{"shop": true, "archive": false} {
		b.turn(t, chromedp.SetValue(field("Sink or endpoint"), sink), chromedp.Click(control("Show")))
		sinks := value[[]string](t, b, cells("Dead letters", 1))
		if len(sinks) > 0 != some || slices.ContainsFunc(sinks, func(s string) bool { return s != sink }) {
			t.Errorf("dead letters of %s: %q", sink, sinks)
		}
	}
	b.open(t, "/deadletters?sink=shop")
	sn := value[[]string](t, b, cells("Dead letters", 2))[0]
	b.follow(t, sn)
	if title := value[string](t, b, heading); title != "Order "+sn {
		t.Errorf("the dead letter leads to %q", title)
	}
}

// The export of all orders has each once, as the log has it.
func browseExport(t *testing.T, w *consoleWorld, b *tab) {
	w.settled()
	dir := t.TempDir()
	b.open(t, "/orders")
	yes := true
	behavior := browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: dir, EventsEnabled: &yes}
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetDownloadBehavior, behavior); err != nil {
		t.Fatal(err)
	}
	downloads := chromedp.BrowserEvents(b.ctx, browser.DownloadProgress)
	b.do(t, chromedp.Click(control("Export as CSV")))
	var guid string
	for progress, err := range downloads {
		if err != nil || progress.State == browser.DownloadProgressStateCanceled {
			t.Fatalf("the download: %v, %+v", err, progress)
		}
		if guid = progress.GUID; progress.State == browser.DownloadProgressStateCompleted {
			break
		}
	}
	file, err := os.Open(filepath.Join(dir, guid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, r := range rows[1:] {
		got = append(got, strings.Join(append(r[:3:3], r[4:]...), ","))
	}
	for _, e := range checkVersions(t, w.events(t)) {
		want = append(want, exported(&e))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the file has %d orders:\n%s\nthe log has %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}

// exported is the row of an order in the export, without its sub id, by the order's
// last event.
func exported(e *schema.Event) string {
	o := &e.Data.Order
	for key, sum := range expectedSums([]schema.Order{*o}) {
		keys, figures := strings.Split(key, "|"), strings.Fields(sum)
		status, err := schema.ParseSettlementStatus(keys[5])
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s,%s,%s,%s,%s,%s,%s,%s,%d", o.OrderSn, keys[0], keys[1], keys[6], status, figures[1], figures[2], keys[4], e.Data.Version)
	}
	return ""
}

// focused says what has the focus: what it is, and its name.
const focused = `(() => {
	const e = document.activeElement;
	return e.tagName.toLowerCase() + " " + (e.labels?.[0]?.firstChild.textContent || e.getAttribute("aria-label") || e.textContent).trim();
})()`

// Tab leads past the way to the content, the pages and the fields in the order in which
// they stand, every stop can be seen, and Enter does what a click does.
func browseKeyboard(t *testing.T, _ *consoleWorld, b *tab) {
	b.open(t, "/orders")
	var stops []string
	for len(stops) == 0 || stops[len(stops)-1] != "a Clear" { // the last of the search, behind dates of several stops
		if len(stops) > 40 {
			t.Fatalf("Tab never comes to the end of the search: %q", stops)
		}
		b.do(t, chromedp.KeyEvent(kb.Tab))
		stops = append(stops, value[string](t, b, focused))
		if !value[bool](t, b, `(() => {
			const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			const marked = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 || e.type === "date"; // its parts have marks of their own
			return marked && r.left >= 0 && r.top >= 0 && r.right <= innerWidth;
		})()`) {
			t.Errorf("stop %d, %s, cannot be seen", len(stops), stops[len(stops)-1])
		}
	}
	want := []string{
		"a Skip to the content", "a Overview", "a Orders", "a Webhooks", "a Dead letters", "button Log out",
		"input Order number", "input Program", "input Sub id", "input Account", "select Status",
	}
	at := -1
	for _, stop := range want {
		next := slices.Index(stops, stop)
		if next <= at {
			t.Errorf("Tab comes to %q at stop %d, after stop %d: %q", stop, next+1, at+1, stops)
		}
		at = max(at, next)
	}
	b.open(t, "/orders")
	b.do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	if on := value[string](t, b, "document.activeElement.id"); on != "main" {
		t.Errorf("the way to the content leads to %q", on)
	}
	b.do(t, chromedp.KeyEvent(kb.Tab))
	if on := value[string](t, b, focused); on != "input Order number" {
		t.Errorf("the first stop of the content is %s", on)
	}
	b.do(t, chromedp.Focus(control("Webhooks")))
	b.turn(t, chromedp.KeyEvent(kb.Enter))
	if title := value[string](t, b, heading); title != "Webhooks" {
		t.Errorf("Enter on a link leads to %q", title)
	}
}

// An order of scripts and quotes shows them as text, wherever it is shown.
func browseHostile(t *testing.T, w *consoleWorld, b *tab) {
	b.open(t, "/orders")
	b.turn(t, chromedp.SendKeys(field("Sub id"), hostileScript+kb.Enter))
	if subs := value[[]string](t, b, cells("Orders", 3)); !slices.Equal(subs, []string{hostileScript}) {
		t.Errorf("the search for a sub id finds %q", subs)
	}
	if given := value[string](t, b, string(field("Sub id"))+".value"); given != hostileScript {
		t.Errorf("the field has %q", given)
	}
	b.follow(t, w.hostile.OrderSn)
	if sub, program := value[string](t, b, fact("Sub id")), value[string](t, b, fact("Program")); sub != hostileScript || program != w.hostile.Program+" "+hostileImage {
		t.Errorf("sub id %q, program %q", sub, program)
	}
	if items, shops := value[[]string](t, b, cells("Order lines", 1)), value[[]string](t, b, cells("Order lines", 2)); items[0] != hostileImage || shops[0] != hostileScript {
		t.Errorf("item %q, shop %q", items[0], shops[0])
	}
	if n := value[int](t, b, `document.querySelectorAll("img, script:not([src])").length`); n != 0 {
		t.Errorf("%d elements came of texts", n)
	}
	b.inspect(t, "order-hostile")
}

// links are the addresses on this page that lead to pages of the console, without
// filters but where there is nothing to see without them.
const links = `[...document.querySelectorAll("nav[aria-label=Pages] a, main a:not([download])")].filter(e => e.origin === location.origin).map(e => e.pathname + (e.pathname === "/ledger/postings" ? e.search : ""))`

var (
	segment  = regexp.MustCompile(`[^/]*[0-9][^/]*`)
	unnaming = regexp.MustCompile(`[^a-z0-9]+`)
)

// attack gives a hostile text to all fields of the page's searches. The answer shows
// it as it is, or says what is wrong with it.
func (b *tab) attack(tb testing.TB) {
	tb.Helper()
	at := b.where()
	for i := range value[int](tb, b, `document.querySelectorAll("main form[method=get]").length`) {
		if i > 0 {
			b.open(tb, at)
		}
		status := b.turn(tb, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
			const form = document.querySelectorAll("main form[method=get]")[%d];
			for (const e of form.querySelectorAll("input:not([type]), input[type=text], input[type=search]")) e.value = %s;
			form.requestSubmit();
		})()`, i, jsonOf(hostileImage+hostileScript+`' OR 1=1; --%_\`))))
		if n := value[int](tb, b, `document.querySelectorAll("img, script:not([src])").length`); status >= 500 || n > 0 {
			tb.Errorf("%s with hostile fields: HTTP %d, %d elements that came of them", at, status, n)
		}
	}
}

// kindOf names the kind of the page at an address: those that differ in what has a
// digit are of one.
func kindOf(address string) string {
	path, _, _ := strings.Cut(address, "?")
	return segment.ReplaceAllString(path, "one")
}

// Every kind of page that the menu and the pages behind it lead to is sound in every
// look.
func browseAll(t *testing.T, w *consoleWorld, b *tab) {
	w.settled()
	seen, visits := map[string]bool{"/": true}, []string{"/"}
	add := func() {
		for _, path := range value[[]string](t, b, links) {
			if kind := kindOf(path); !seen[kind] {
				seen[kind] = true
				visits = append(visits, path)
			}
		}
	}
	for len(visits) > 0 {
		path := visits[0]
		visits = visits[1:]
		b.open(t, path)
		add()
		name := strings.Trim(unnaming.ReplaceAllString(strings.ToLower(kindOf(path)), "-"), "-")
		if name == "" {
			name = "overview"
		}
		b.inspect(t, name)
		b.attack(t)
	}
	for _, want := range []string{"/", "/orders", "/orders/one", "/webhooks", "/webhooks/partner", "/webhooks/shop", "/deadletters", "/ledger/postings"} {
		if !seen[want] {
			t.Errorf("no link leads to %s: %v", want, seen)
		}
	}
	if status := b.turn(t, chromedp.Navigate(b.base+"/nowhere")); status != 404 {
		t.Errorf("a page that is not there: HTTP %d", status)
	}
	b.inspect(t, "error")
}
