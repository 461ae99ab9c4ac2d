package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// hostile are texts that a page must show as they are.
const (
	hostileScript = `<script>alert("sub")</script>`
	hostileImage  = `"'><img src=x onerror=alert(1)>`
)

// consoleWorld is a network, a line that runs with its console, and two receivers: one
// that takes everything, and one that refuses one event in sixteen for good.
type consoleWorld struct {
	*world
	db      *sql.DB // of the network, to look at
	partner *inbox
	api     caller
	hostile schema.OrderKey // an order with hostile texts
}

func newConsoleWorld(tb testing.TB) *consoleWorld {
	tb.Helper()
	w := &consoleWorld{partner: newInbox(tb)}
	shop := newOutlet(tb, "shop", func(rw http.ResponseWriter, r *http.Request) bool {
		if id := r.Header.Get("webhook-id"); strings.HasSuffix(id, "7") {
			http.Error(rw, "no room", http.StatusInsufficientStorage)
			return false
		}
		return takes(rw, r)
	})
	shop.listen(tb, "127.0.0.1:0")
	shop.start(tb)
	w.world = newWorld(tb, worldConfig{orders: 300, yaml: "http: {listen: '127.0.0.1:0', token: t0ken}\n" + w.partner.yaml() + shop.yaml(", retry: [10ms]")})
	var err error
	if w.db, err = sql.Open("sqlite", filepath.Join(w.dir, "network.db")); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.db.Close() })
	w.spoil(tb)
	p := launch(tb, "run", "-c", w.config)
	_, address, _ := strings.Cut(p.log.await(tb, "status service"), "url=")
	w.api = caller{tb, strings.TrimSuffix(address, "/api/v1/status"), "t0ken"}
	w.settled()
	w.step(tb, 120) // so that some orders have a history
	w.settled()
	return w
}

// spoil gives the network an order with hostile texts.
func (w *consoleWorld) spoil(tb testing.TB) {
	tb.Helper()
	var id int64
	var program, sn, name, sub, head, details string
	err := w.db.QueryRowContext(tb.Context(), "SELECT id, program_id, order_sn, program_name, sub_id, head, details FROM orders WHERE sub_id <> '' LIMIT 1").
		Scan(&id, &program, &sn, &name, &sub, &head, &details)
	if err != nil {
		tb.Fatal(err)
	}
	w.hostile = schema.OrderKey{Account: "main", Program: program, OrderSn: sn}
	var lines []map[string]any
	if err = json.Unmarshal([]byte(details), &lines); err != nil {
		tb.Fatal(err)
	}
	lines[0]["ItemName"], lines[0]["ShopTitle"] = hostileImage, hostileScript
	head = strings.NewReplacer(member("SubId", sub), member("SubId", hostileScript), member("ProgramName", name), member("ProgramName", hostileImage)).Replace(head)
	_, err = w.db.ExecContext(tb.Context(), "UPDATE orders SET program_name = ?, sub_id = ?, head = ?, details = ? WHERE id = ?",
		hostileImage, hostileScript, head, jsonOf(lines), id)
	if err != nil || !strings.Contains(head, "onerror") {
		tb.Fatalf("%v, %s", err, head)
	}
}

// member is one of a JSON object.
func member(name, value string) string { return `"` + name + `":` + jsonOf(value) }

// jsonOf writes JSON as the network does, with < and > as they are.
func jsonOf(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // never fails for what is given
	return strings.TrimSpace(b.String())
}

// next is the order that the simulator changes next.
func (w *consoleWorld) next(tb testing.TB) schema.OrderKey {
	tb.Helper()
	key := schema.OrderKey{Account: "main"}
	err := w.db.QueryRowContext(tb.Context(), `SELECT o.program_id, o.order_sn FROM simulated_orders s JOIN orders o ON o.id = s.order_id
		WHERE s.due IS NOT NULL ORDER BY s.due, s.order_id LIMIT 1`).Scan(&key.Program, &key.OrderSn)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// settled waits until all that the network has is in the log, in the books and
// delivered.
func (w *consoleWorld) settled() {
	w.api.Helper()
	progress, err := w.sim.Progress(w.api.Context())
	if err != nil {
		w.api.Fatal(err)
	}
	want := uint64(progress.Orders + progress.Moves)
	w.api.await(fmt.Sprintf("%d events are in the books and delivered", want), func() bool {
		var s struct {
			Last  uint64 `json:"last_sequence"`
			Sinks []struct {
				Name string `json:"name"`
				Lag  uint64 `json:"lag"`
			} `json:"sinks"`
		}
		w.api.do(&s, http.MethodGet, "/api/v1/status", "")
		behind := want - s.Last
		for _, sink := range s.Sinks {
			if sink.Name != "archive" { // which writes a file a second, and no page waits for it
				behind += sink.Lag
			}
		}
		return behind == 0 && len(s.Sinks) > 0
	})
}

func pageOf(key schema.OrderKey) string { return "/orders/" + url.PathEscape(key.String()) }

// The console in a browser, with a line at work behind it. No page may have an error,
// a refusal of its content security policy or a dialog.
func TestBrowser(t *testing.T) {
	t.Parallel()
	path := needBrowser(t)
	w := newConsoleWorld(t)
	b := newTab(t, path, w.api.base)
	for _, step := range []struct {
		name     string
		do       func(*testing.T, *consoleWorld, *tab)
		expected []string // of what the browser says
	}{
		{"login", browseLogin, []string{"401 (Unauthorized)"}},
		{"overview", browseOverview, nil},
		{"timeline", browseTimeline, nil},
		{"without JavaScript", browseWithoutScripts, nil},
		{"pause and resume", browsePause, nil},
		{"replay", browseReplay, nil},
		{"dead letters", browseDeadLetters, nil},
		{"export", browseExport, nil},
		{"keyboard", browseKeyboard, nil},
		{"hostile order", browseHostile, nil},
		{"all pages", browseAll, []string{"404 (Not Found)", "400 (Bad Request)"}},
		{"logout", browseLogout, nil},
	} {
		good := t.Run(step.name, func(t *testing.T) {
			step.do(t, w, b)
			b.sound(t, step.expected...)
		})
		if !good && step.name == "login" {
			t.Fatal("without a session, the other pages are not there")
		}
	}
	t.Logf("screenshots are in %s", b.dir)
}
