package main_test

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Environment variables of the tests in a browser.
const (
	// browserVariable says what to do where there is no Chromium: by default the
	// tests are skipped, with the reason; "required" makes them fail; "off" skips
	// them everywhere.
	browserVariable = "ORDERWIRE_BROWSER_TESTS"
	// chromiumVariable names Chromium's program, by default the first that is found.
	chromiumVariable = "ORDERWIRE_TEST_CHROMIUM"
	// artefactsVariable names the folder that the screenshots go to, by default the
	// test's own, which `go test -artifacts` keeps.
	artefactsVariable = "ORDERWIRE_TEST_ARTEFACTS"
)

// tabLimit is how long a page may take for what a test waits for.
const tabLimit = time.Minute

// needBrowser returns the path of Chromium's program.
func needBrowser(tb testing.TB) string {
	tb.Helper()
	mode := os.Getenv(browserVariable)
	if mode == "off" {
		tb.Skipf("%s=off", browserVariable)
	}
	if mode != "" && mode != "required" {
		tb.Fatalf("%s=%s: want required, off or nothing", browserVariable, mode)
	}
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if given := os.Getenv(chromiumVariable); given != "" {
		names = []string{given}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	reason := "needs a browser: none of " + strings.Join(names, ", ") + " is here; install one (Debian: apt-get install chromium), or name it in " + chromiumVariable
	if mode == "required" {
		tb.Fatal(reason)
	}
	tb.Skip(reason)
	return ""
}

// tab is a page in a browser. What goes wrong in it is kept until [tab.sound].
type tab struct {
	ctx  context.Context
	base string // address of the console, without a slash at the end
	dir  string // of the screenshots

	mu         sync.Mutex
	complaints []string
}

// newTab starts a browser, which ends with the test.
func newTab(tb testing.TB, path, base string) *tab {
	tb.Helper()
	b := &tab{base: base, dir: os.Getenv(artefactsVariable)}
	if b.dir == "" {
		b.dir = tb.ArtifactDir()
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WindowSize(desk.width, desk.height))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's own does not work as root
	}
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(tb.Context()), options...)
	tb.Cleanup(stop)
	var end context.CancelFunc
	b.ctx, end = chromedp.NewContext(ctx, chromedp.WithErrorf(tb.Logf))
	tb.Cleanup(end)
	if err := chromedp.Listen(b.ctx, b.hear); err != nil {
		tb.Fatalf("%s does not start: %v", path, err)
	}
	b.look(tb, desk)
	return b
}

// hear notes what a page should not do: errors and warnings, refusals by the content
// security policy, dialogs.
func (b *tab) hear(event any) {
	var what string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		what = "exception: " + (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *runtime.EventConsoleAPICalled:
		if !slices.Contains([]string{"error", "warning", "assert"}, string(e.Type)) {
			return
		}
		what = "console: " + string(e.Type)
		for _, a := range e.Args {
			what += " " + a.Description + string(a.Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level != "error" && e.Entry.Level != "warning" {
			return
		}
		what = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		what = "dialog: " + e.Message
		go func() { // not here, where the events are read
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, what)
}

// sound fails unless the pages since the last time were sound but for what holds one
// of the expected texts.
func (b *tab) sound(tb testing.TB, expected ...string) {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		if !slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(c, text) }) {
			tb.Errorf("the browser says: %s", c)
		}
	}
	b.complaints = nil
}

// do performs actions.
func (b *tab) do(tb testing.TB, actions ...chromedp.Action[chromedp.Void]) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, tabLimit)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		tb.Fatalf("%v, at %s", err, b.where())
	}
}

// turn performs actions that lead to another page, and returns its HTTP status.
func (b *tab) turn(tb testing.TB, actions ...chromedp.Action[chromedp.Void]) int {
	tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, tabLimit)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, actions...)
	if err != nil {
		tb.Fatalf("no other page: %v, at %s", err, b.where())
	}
	return int(answer.Status)
}

// open opens a page of the console, which has to be there.
func (b *tab) open(tb testing.TB, path string) {
	tb.Helper()
	if status := b.turn(tb, chromedp.Navigate(b.base+path)); status != 200 {
		tb.Fatalf("%s: HTTP %d", path, status)
	}
}

// follow clicks on a link, a button or the like with a text, which leads to a page.
func (b *tab) follow(tb testing.TB, text string) {
	tb.Helper()
	if status := b.turn(tb, chromedp.Click(control(text))); status != 200 {
		tb.Fatalf("%q leads to HTTP %d", text, status)
	}
}

// control finds a link, a button or the like by its text.
func control(text string) chromedp.JSPath {
	return chromedp.JSPath(fmt.Sprintf("[...document.querySelectorAll('main a, button, summary, nav a')].find(e => e.textContent.trim() === %s)", strconv.Quote(text)))
}

// field finds a field of a form by the beginning of its label.
func field(label string) chromedp.JSPath {
	return chromedp.JSPath(fmt.Sprintf("[...document.querySelectorAll('label')].find(e => e.textContent.trim().startsWith(%s))?.control", strconv.Quote(label)))
}

// where is the address of the page.
func (b *tab) where() string {
	at, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(at, b.base)
}

// value is that of an expression in the page.
func value[T any](tb testing.TB, b *tab, expression string) T {
	tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, tabLimit)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.Fatalf("%s: %v, at %s", expression, err, b.where())
	}
	return v
}

// await waits until an expression is true in the page, which no action does: it looks
// whenever the page changes.
func (b *tab) await(tb testing.TB, expression string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, tabLimit)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise((done) => {
		const look = () => { if (`+expression+`) { changes.disconnect(); done(true); } };
		const changes = new MutationObserver(look);
		changes.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
		look();
	})`, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.Fatalf("never %s: %v\n%s", expression, err, value[string](tb, b, "document.body.innerText"))
	}
}

// look is a way to look at a page.
type look struct {
	name          string
	width, height int
	dark          bool
}

var (
	desk  = look{name: "light", width: 1280, height: 900}
	looks = []look{{name: "dark", width: 1280, height: 900, dark: true}, {name: "phone", width: 390, height: 844}, desk}
)

// look shows the page so.
func (b *tab) look(tb testing.TB, l look) {
	tb.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		tb.Fatal(err)
	}
	if l.width < 600 {
		b.do(tb, chromedp.EmulateViewport(int64(l.width), int64(l.height), chromedp.EmulateMobile, chromedp.EmulatePortrait))
	} else {
		b.do(tb, chromedp.EmulateViewport(int64(l.width), int64(l.height)))
	}
}

//go:embed testdata/browser.js
var pageChecks string

// inspect looks at the page in every way, holds it to what all pages have, and keeps
// pictures of it.
func (b *tab) inspect(tb testing.TB, name string) {
	tb.Helper()
	for _, l := range looks {
		b.look(tb, l)
		for _, wrong := range value[[]string](tb, b, pageChecks) { // of what is folded up as well
			tb.Errorf("%s, %s: %s", b.where(), l.name, wrong)
		}
		if err := os.WriteFile(filepath.Join(b.dir, name+"-"+l.name+".png"), b.picture(tb, l.width), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// tallest bounds a picture of a page, in pixels: nobody looks at more.
const tallest = 2400

// picture is a screenshot of the whole page, or of its upper part, as PNG.
func (b *tab) picture(tb testing.TB, width int) []byte {
	tb.Helper()
	yes := true
	height := value[float64](tb, b, "document.documentElement.offsetHeight")
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, OptimizeForSpeed: &yes, CaptureBeyondViewport: &yes,
		Clip: &page.Viewport{Width: float64(width), Height: min(height, tallest), Scale: 1},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return shot.Data
}
