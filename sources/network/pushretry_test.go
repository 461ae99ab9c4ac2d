package network

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// failure waits until a push was given up.
func (w pushWorld) failure(t *testing.T) PushFailure {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		all, err := w.PushFailures(ctx, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			tick.Stop()
			return all[0]
		}
		<-tick.C
	}
}

// A push that is not received is sent four times in all, not sooner than the
// pause allows, and then kept with the reason. The next push of the order comes
// only then.
func TestPushRetries(t *testing.T) {
	const pause = 30 * time.Millisecond
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		reason string
	}{
		"not received": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "-1\n") }, "the receiver answered -1"},
		"another word": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }, "the answer is none of 1, 0 and -1"},
		"no answer":    {func(http.ResponseWriter, *http.Request) {}, "the answer is none of 1, 0 and -1"},
		"HTTP failure": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "1", 500) }, "the receiver answered HTTP 500"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
			"the receiver answered HTTP 307"},
		"cut connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"hanging":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 150ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := newPushWorld(t), newPushReceiver(t, tt.answer)
			w.target(t, "a", r.URL+"/push")
			w.place(t, "a", "SN-1", schema.Confirmed)
			stop := w.run(t, PusherConfig{AllowPrivate: true, RetryEvery: pause, Timeout: 150 * time.Millisecond})
			var before time.Time
			for range 1 + PushRetries {
				p := r.next(t)
				if p.path != "/push" || p.text("Status") != "0" || p.at.Sub(before) < pause {
					t.Errorf("%s at %s, %s after the last", p.body, p.path, p.at.Sub(before))
				}
				before = p.at
			}
			f := w.failure(t)
			if f.Reason != tt.reason || f.Event != "created" || f.OrderSn != "SN-1" || f.ProgramID != "1042" || f.AppKey != "a" || f.Attempts != 4 {
				t.Errorf("%+v", f)
			}
			if p := r.next(t); p.text("Status") != "1" {
				t.Errorf("after it was given up: %s", p.body)
			}
			stop()
			if all, err := w.PushTargets(t.Context()); err != nil || len(all) != 1 || all[0].GivenUp != 1 || all[0].Waiting != 1 || all[0].Publisher != "a" {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

// One order's push that fails keeps back that order alone, and one publisher's
// address that hangs keeps back that publisher alone.
func TestPushKeepsOrder(t *testing.T) {
	w := newPushWorld(t)
	failed := make(chan struct{})
	first := true
	r := newPushReceiver(t, nil)
	r.answer = func(rw http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if first {
			first = false
			close(failed)
			rw.WriteHeader(http.StatusBadGateway)
			return
		}
		io.WriteString(rw, "0")
	}
	hanging := newPushReceiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	w.target(t, "a", r.URL+"/a")
	w.target(t, "b", hanging.URL+"/b")
	for _, sn := range []string{"1", "2", "3"} {
		w.place(t, "b", sn)
	}
	w.place(t, "a", "SN-1", schema.Confirmed, schema.Approved)
	w.run(t, PusherConfig{AllowPrivate: true, RetryEvery: time.Second, Concurrency: 2, Timeout: time.Minute})
	<-failed
	w.place(t, "a", "SN-2", schema.Invalid)
	var came []string
	for range 6 {
		p := r.next(t)
		came = append(came, p.text("OrderSn")+" "+p.text("Status"))
	}
	if got := strings.Join(came, ", "); got != "SN-1 0, SN-2 0, SN-2 -1, SN-1 0, SN-1 1, SN-1 2" {
		t.Error(got)
	}
}

// What is queued survives the end of the process, with the attempts made.
func TestPushSurvivesRestart(t *testing.T) {
	file := pushDatabase(t)
	w := openPushWorld(t, file)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w.target(t, "a", gone.URL)
	w.place(t, "a", "SN-1")
	stop := w.run(t, PusherConfig{AllowPrivate: true, RetryEvery: time.Millisecond})
	if f := w.failure(t); !strings.Contains(f.Reason, "connection refused") {
		t.Error(f.Reason)
	}
	stop()
	w.place(t, "a", "SN-2", schema.Confirmed)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = openPushWorld(t, file)
	if n := w.queued(t); n != 2 {
		t.Fatalf("%d pushes are queued", n)
	}
	r := newPushReceiver(t, nil)
	w.target(t, "a", r.URL) // the address may be another one by now
	stop = w.run(t, PusherConfig{AllowPrivate: true})
	for _, want := range []string{"0", "1"} {
		if p := r.next(t); p.text("OrderSn") != "SN-2" || p.text("Status") != want || p.path != "/" {
			t.Errorf("want Status %s, have %s", want, p.body)
		}
	}
	w.place(t, "a", "SN-3") // and by another service on the same database
	r.next(t)
	other := openPushWorld(t, file)
	other.place(t, "a", "SN-4")
	if p := r.next(t); p.text("OrderSn") != "SN-4" {
		t.Errorf("%s", p.body)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.queued(t) > 0 && t.Context().Err() == nil {
		<-tick.C
	}
	stop()
}

// Seeding tells nobody; the simulation goes on as the platform would, and what
// is told is exactly what became of the settlement status.
func TestPushOfSimulation(t *testing.T) {
	w := newPushWorld(t)
	w.target(t, "a", "http://127.0.0.1:1/push")
	sim, err := w.Simulator(SimulatorConfig{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Seed(t.Context(), 300); err != nil {
		t.Fatal(err)
	}
	if n := w.queued(t); n != 0 {
		t.Fatalf("%d pushes of past orders", n)
	}
	if err := sim.Step(t.Context(), 200); err != nil {
		t.Fatal(err)
	}
	var want int64
	err = w.store.row(t.Context(), `SELECT COUNT(*) FROM order_history h JOIN orders o ON o.id = h.order_id
		WHERE o.publisher_id = (SELECT publisher_id FROM access_keys WHERE access_key = 'a')
		AND h.reason LIKE 'settlement: % to %'`, nil, &want)
	if n := w.queued(t); err != nil || n == 0 || n != want {
		t.Errorf("%d pushes, want %d, %v", n, want, err)
	}
	if err := w.RemovePushTarget(t.Context(), "a"); err != nil || w.queued(t) != 0 {
		t.Errorf("%d pushes are left for nobody, %v", w.queued(t), err)
	}
}

// Private and loopback addresses are not reached unless the configuration says
// so, and nothing arrives there.
func TestPushGuard(t *testing.T) {
	w, r := newPushWorld(t), newPushReceiver(t, nil)
	for _, private := range []bool{false, true} {
		p, err := w.Pusher(PusherConfig{AllowPrivate: private, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		w.target(t, "a", r.URL)
		if err := p.Test(t.Context(), "a"); errors.Is(err, ErrPushAddress) == private {
			t.Errorf("AllowPrivate %v: %v", private, err)
		}
		w.target(t, "a", "http://169.254.169.254/latest")
		if err := p.Test(t.Context(), "a"); !errors.Is(err, ErrPushAddress) {
			t.Errorf("a link-local address, AllowPrivate %v: %v", private, err)
		}
	}
	if p := r.next(t); p.text("Test") != "1" || p.text("OrderSn") != "" || len(r.pushes) > 0 {
		t.Errorf("%s, and %d more", p.body, len(r.pushes))
	}
}

// The newest valid secret signs, also while the one before is still valid.
func TestPushAfterNewSecret(t *testing.T) {
	w, r := newPushWorld(t), newPushReceiver(t, nil)
	w.target(t, "a", r.URL+"/x")
	p, err := w.Pusher(PusherConfig{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddPublisher(t.Context(), Publisher{AppKey: "a", AppSecret: "another"}); err != nil {
		t.Fatal(err)
	}
	err = w.store.change(t.Context(), func(c *change) error {
		return c.exec(t.Context(), `UPDATE key_secrets SET expires_at = ? WHERE access_key = 'a' AND number = 1`, c.now+3600)
	})
	if err := errors.Join(err, p.Test(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	push := r.next(t)
	want, err := pushBody("another", "/x", "a", int64(push.fields["Timestamp"].(float64)), []byte(`"Test":"1"`))
	if err != nil || string(push.body) != string(want) {
		t.Errorf("have %s\nwant %s, %v", push.body, want, err)
	}
}

func TestPushTargetRefusals(t *testing.T) {
	w := newPushWorld(t)
	if err := w.AddAdvertiser(t.Context(), Advertiser{AdsKey: "brand"}); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"", "push", "//host/push", "ftp://host/push", "https://", "https://:80/", "https://u:p@host/", "https://host/?a=1", "https://host/?",
		"https://host/#x", "https://host:0/", "https://host:99999/", "https://ho st/", "https://host/\x00", "https://host/" + strings.Repeat("a", 255),
	} {
		var wrong *ConfigError
		if err := w.SetPushTarget(t.Context(), "a", address); !errors.As(err, &wrong) || len(address) > 8 && strings.Contains(err.Error(), address) {
			t.Errorf("%q: %v", address, err)
		}
	}
	p, err := w.Pusher(PusherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "nobody", "brand"} {
		for name, err := range map[string]error{
			"set": w.SetPushTarget(t.Context(), key, "https://host/"), "remove": w.RemovePushTarget(t.Context(), key), "test": p.Test(t.Context(), key),
		} {
			if !errors.Is(err, ErrPushKey) {
				t.Errorf("%s with key %q: %v", name, key, err)
			}
		}
	}
	if err := errors.Join(w.RemovePushTarget(t.Context(), "a"), p.Test(t.Context(), "a")); !errors.Is(err, ErrNoPushTarget) {
		t.Error(err)
	}
	if _, err := w.Pusher(PusherConfig{RetryEvery: -1, Timeout: -1, Concurrency: -1}); err == nil || strings.Count(err.Error(), "negative") != 3 {
		t.Error(err)
	}
}
