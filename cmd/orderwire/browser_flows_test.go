package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Expressions for what a page shows.
const (
	heading  = `document.querySelector("h1").textContent`
	timeline = `document.querySelectorAll("table.timeline tbody tr").length`
	actions  = `[...document.querySelectorAll(".actions button")].map(e => (e.className + " " + e.textContent).trim())`
)

// fact is the expression for a fact or figure by its name.
func fact(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("dt")].find(e => e.textContent.trim() === %s)?.nextElementSibling.textContent.trim()`, strconv.Quote(name))
}

// cells is the expression for the texts of a column of a table.
func cells(caption string, column int) string {
	return fmt.Sprintf(`[...document.querySelectorAll("table")].filter(e => e.caption.textContent.startsWith(%s)).flatMap(e => [...e.tBodies[0].rows]).map(e => e.cells[%d].textContent.trim())`,
		strconv.Quote(caption), column)
}

// Whoever has no session sees the login page alone, and a wrong token opens nothing.
func browseLogin(t *testing.T, _ *consoleWorld, b *tab) {
	for _, path := range []string{"/", "/orders", "/webhooks/partner", "/deadletters"} {
		b.open(t, path)
		if at, links := b.where(), value[int](t, b, `document.querySelectorAll("nav a").length`); at != "/login" || links > 0 {
			t.Errorf("%s without a session leads to %s, with %d links to pages", path, at, links)
		}
	}
	b.inspect(t, "login")
	if status := b.turn(t, chromedp.SendKeys(field("Token"), "guess"+kb.Enter)); status != 401 {
		t.Errorf("a wrong token: HTTP %d", status)
	}
	if alert := value[string](t, b, `document.querySelector("[role=alert]").textContent`); !strings.Contains(alert, "not the token") {
		t.Errorf("a wrong token: %q", alert)
	}
	b.inspect(t, "login-refused")
	b.turn(t, chromedp.SendKeys(field("Token"), "t0ken"), chromedp.Click(control("Log in")))
	if at := b.where(); at != "/" {
		t.Errorf("the login leads to %s", at)
	}
	if cookies := value[string](t, b, "document.cookie"); cookies != "" {
		t.Errorf("a script can read the cookies: %q", cookies)
	}
	b.follow(t, "Orders")
	if at := value[string](t, b, heading); at != "Orders" {
		t.Errorf("the session leads to %q", at)
	}
}

// After the logout, the session is over, also by the browser's way back.
func browseLogout(t *testing.T, _ *consoleWorld, b *tab) {
	b.open(t, "/webhooks")
	b.turn(t, chromedp.Click(chromedp.CSS("header button")))
	b.open(t, "/orders")
	if at := b.where(); at != "/login" {
		t.Errorf("after the logout: %s", at)
	}
	b.do(t, chromedp.NavigateBack())
	if links := value[int](t, b, `document.querySelectorAll("table, nav a").length`); links > 0 {
		t.Error("the way back shows a page of the session that has ended")
	}
}

// The first page draws the commission, lists the sinks, says what is wrong, and gets
// newer figures while it is looked at.
func browseOverview(t *testing.T, w *consoleWorld, b *tab) {
	b.open(t, "/")
	charts := value[[]string](t, b, `[...document.querySelectorAll("svg[role=img]")].filter(e => e.querySelectorAll("rect").length > 10).map(e => e.querySelector("title").textContent)`)
	if len(charts) < 2 || slices.Contains(charts, "") {
		t.Errorf("charts of two currencies: %q", charts)
	}
	if sinks := value[[]string](t, b, cells("Sinks", 0)); !slices.Contains(sinks, "archive") || !slices.Contains(sinks, "commission") {
		t.Errorf("sinks %q", sinks)
	}
	if remarks := value[string](t, b, `document.querySelector(".attention").innerText`); !strings.Contains(remarks, "shop has") {
		t.Errorf("needs attention: %q", remarks)
	}
	newest := value[string](t, b, fact("Newest event"))
	const minutes = `document.querySelector("#live-pace details")`
	b.do(t, chromedp.Evaluate[chromedp.Void]("window.mark = true"), chromedp.Click(chromedp.JSPath(minutes+".firstElementChild")))
	drawn := value[string](t, b, `document.querySelector("#pace-title").textContent`)
	w.step(t, 3)
	b.await(t, fact("Newest event")+" !== "+strconv.Quote(newest))
	b.await(t, `document.querySelector("#pace-title").textContent !== `+strconv.Quote(drawn))
	if !value[bool](t, b, "window.mark === true") {
		t.Error("the page was loaded again")
	}
	if !value[bool](t, b, minutes+`.open && document.activeElement === `+minutes+`.firstElementChild && document.getElementById("stale").hidden`) {
		t.Error("what was unfolded is folded again, or has lost the focus")
	}
}

// An order is found by its number, and its timeline grows while the simulator changes
// it.
func browseTimeline(t *testing.T, w *consoleWorld, b *tab) {
	w.settled()
	key := w.next(t)
	b.open(t, "/orders")
	if status := b.turn(t, chromedp.SendKeys(field("Order number"), key.OrderSn+kb.Enter)); status != 200 {
		t.Fatalf("the search: HTTP %d", status)
	}
	found := value[[]string](t, b, cells("Orders", 0))
	if len(found) == 0 || slices.ContainsFunc(found, func(sn string) bool { return !strings.Contains(sn, key.OrderSn) }) {
		t.Fatalf("the search for %s finds %q", key.OrderSn, found)
	}
	b.turn(t, chromedp.Click(chromedp.CSS(fmt.Sprintf("a[href=%q]", pageOf(key)))))
	if title := value[string](t, b, heading); title != "Order "+key.OrderSn {
		t.Errorf("heading %q", title)
	}
	rows := value[int](t, b, timeline)
	b.do(t, chromedp.Evaluate[chromedp.Void]("window.mark = true"))
	w.step(t, 1)
	b.await(t, fmt.Sprintf("%s === %d", timeline, rows+1))
	if !value[bool](t, b, "window.mark === true") {
		t.Error("the page was loaded again")
	}
	last := value[string](t, b, `document.querySelector("table.timeline tbody tr:last-child").innerText`)
	if !strings.Contains(last, "→") || !strings.HasPrefix(last, strconv.Itoa(rows+1)) {
		t.Errorf("the new row is %q", last)
	}
	if version := value[string](t, b, fact("Version")); version != strconv.Itoa(rows+1) {
		t.Errorf("the order is at version %s after %d events", version, rows+1)
	}
}

// Without JavaScript, the search works, and pages are new when they are loaded again.
func browseWithoutScripts(t *testing.T, w *consoleWorld, b *tab) {
	scripts := func(off bool) {
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}); err != nil {
			t.Fatal(err)
		}
	}
	scripts(true)
	defer scripts(false)
	w.settled()
	key := w.next(t)
	b.open(t, "/orders")
	b.turn(t, chromedp.SendKeys(field("Order number"), key.OrderSn), chromedp.Click(control("Search")))
	b.turn(t, chromedp.Click(chromedp.CSS(fmt.Sprintf("a[href=%q]", pageOf(key)))))
	rows := value[int](t, b, timeline)
	w.step(t, 1)
	w.settled()
	if got := value[int](t, b, timeline); got != rows {
		t.Errorf("%d rows without JavaScript, before the page is loaded again, want %d", got, rows)
	}
	b.turn(t, chromedp.Reload())
	if got := value[int](t, b, timeline); got != rows+1 {
		t.Errorf("%d rows, want %d", got, rows+1)
	}
}

// A paused endpoint gets nothing, and what it is owed when it is resumed.
func browsePause(t *testing.T, w *consoleWorld, b *tab) {
	w.settled()
	b.open(t, "/webhooks")
	b.follow(t, "partner")
	b.turn(t, chromedp.SendKeys(field("Reason"), "moving house"), chromedp.Click(control("Pause")))
	if state, reason := value[string](t, b, fact("State")), value[string](t, b, fact("Reason")); state != "paused" || reason != "moving house" {
		t.Errorf("state %q, reason %q", state, reason)
	}
	if buttons := value[[]string](t, b, actions); !slices.Equal(buttons, []string{"Resume", "quiet Send a test event"}) {
		t.Errorf("what is done with a paused endpoint: %q", buttons)
	}
	b.inspect(t, "webhook-paused")
	b.open(t, "/")
	w.api.await("the line has seen the pause", func() bool {
		b.turn(t, chromedp.Reload())
		return value[bool](t, b, `document.querySelector(".attention").innerText.includes("Endpoint partner is paused")`)
	})
	w.partner.take()
	w.step(t, 4)
	b.follow(t, "partner")
	behind := func(events string) bool {
		b.turn(t, chromedp.Reload())
		return value[string](t, b, fact("Events behind")) == events
	}
	w.api.await("four events are owed", func() bool { return behind("4") })
	if _, order := w.partner.take(); len(order) > 0 {
		t.Errorf("%d deliveries to a paused endpoint", len(order))
	}
	b.turn(t, chromedp.Click(control("Resume")))
	if state, buttons := value[string](t, b, fact("State")), value[[]string](t, b, actions); state != "active" || !slices.Equal(buttons, []string{"Pause", "quiet Send a test event"}) {
		t.Errorf("state %q, what is done with it: %q", state, buttons)
	}
	w.api.await("nothing is owed", func() bool { return behind("0") })
	if bodies, _ := w.partner.take(); len(bodies) != 4 {
		t.Errorf("%d events came after the pause, want 4", len(bodies))
	}
	b.turn(t, chromedp.Click(control("Send a test event")))
	if notice := value[string](t, b, `document.querySelector("[role=status]").textContent`); !strings.Contains(notice, "took the test event: HTTP 200") {
		t.Errorf("test event: %q", notice)
	}
	if bodies, _ := w.partner.take(); len(bodies) != 1 {
		t.Errorf("%d deliveries, want the test event", len(bodies))
	}
}

// A dry run counts and sends nothing; what it has counted is then sent.
func browseReplay(t *testing.T, w *consoleWorld, b *tab) {
	w.settled()
	w.partner.take()
	b.open(t, "/webhooks/partner")
	b.do(t, chromedp.Click(control("Deliver events again")))
	b.inspect(t, "webhook-replay-form")
	b.turn(t, chromedp.SendKeys(field("From sequence"), "11"), chromedp.SendKeys(field("Until sequence"), "20"), chromedp.Click(control("Dry run")))
	if events := value[string](t, b, fact("Events")); events != "10" {
		t.Errorf("the dry run counts %s events", events)
	}
	if _, order := w.partner.take(); len(order) > 0 {
		t.Errorf("the dry run has sent %d events", len(order))
	}
	b.inspect(t, "replay-dry-run")
	b.turn(t, chromedp.Click(control("Send 10 events again")))
	if delivered := value[string](t, b, fact("Delivered")); delivered != "10" {
		t.Errorf("%s events delivered", delivered)
	}
	b.inspect(t, "replay-done")
	var want []string
	for _, e := range w.events(t)[10:20] {
		want = append(want, e.ID)
	}
	bodies, order := w.partner.take()
	if got := slices.Sorted(maps.Keys(bodies)); len(order) != 10 || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("%d deliveries of %q, want once each %q", len(order), got, want)
	}
}
