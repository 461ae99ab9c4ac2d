package network_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/orderwire/orderwire/sources/network"
)

func refuseReplays(c *network.Config) { c.RefuseReplays = true }

// A signed request is taken once within the clock window, whichever body
// carries it, and what was refused for its signature is not remembered.
func TestReplaysAreRefused(t *testing.T) {
	f := start(t, refuseReplays)
	now := f.clock.unix.Load()
	p := params{"Stime": now, "Etime": now, "Page": "1"}
	path := "/" + appKey + "/" + ordersQuery
	body := f.signed(appKey, appSecret, ordersQuery, p)
	for i, want := range []network.Status{network.StatusSuccess, network.StatusReplay, network.StatusReplay} {
		if a := f.post(path, body); a.HTTP != 200 || a.Status != want {
			t.Errorf("time %d: HTTP %d, Status %d: %s; want Status %d", i, a.HTTP, a.Status, a.Message, want)
		}
	}
	if a := f.post(path, append([]byte(" \n"), body...)); a.Status != network.StatusReplay {
		t.Errorf("with white space: Status %d", a.Status)
	}
	if a := f.post(path, []byte(lowerSign(string(body)))); a.Status != network.StatusSignature {
		t.Errorf("another Sign: Status %d", a.Status)
	}
	p["Timestamp"] = now + 1
	if a := f.call(ordersQuery, p); a.Status != network.StatusSuccess {
		t.Errorf("signed anew: Status %d: %s", a.Status, a.Message)
	}
	form := fields{"Timestamp": "1", "Stime": "2"}.signedAs(t, "Sign", appKey, appSecret, ordersQuery, false)
	for range 2 {
		if a := f.sendBody(ordersQuery, formType, form.encode()); a.Status != network.StatusTimestamp {
			t.Errorf("stale form: Status %d", a.Status)
		}
	}
	f.publisher(network.Publisher{AppKey: "other", AppSecret: appSecret, Websites: []string{"w"}})
	if a := f.callAs("other", appSecret, ordersQuery, params{"Stime": now, "Etime": now, "Page": "1"}); a.Status != network.StatusSuccess {
		t.Errorf("the same of another key: Status %d: %s", a.Status, a.Message)
	}
}

// The same form and multipart form are one request.
func TestReplayOfAForm(t *testing.T) {
	f := start(t, refuseReplays)
	now := f.clock.unix.Load()
	all := fields{"Timestamp": fmt.Sprint(now), "Stime": fmt.Sprint(now), "Etime": fmt.Sprint(now)}.signedAs(t, "sign", appKey, appSecret, ordersQuery, false)
	multi, body := all.multipart(t)
	if a := f.sendBody(ordersQuery, formType, all.encode()); a.Status != network.StatusSuccess {
		t.Errorf("Status %d: %s", a.Status, a.Message)
	}
	if a := f.sendBody(ordersQuery, multi, string(body)); a.Status != network.StatusReplay {
		t.Errorf("again, as multipart: Status %d", a.Status)
	}
}

// A request is remembered until its Timestamp leaves the window, which may take
// twice the window; a clock that is set back lets none in again.
func TestReplayWindow(t *testing.T) {
	f := start(t, refuseReplays)
	now := f.clock.unix.Load()
	path := "/" + appKey + "/" + ordersQuery
	body := f.signed(appKey, appSecret, ordersQuery, params{"Timestamp": now + 300, "Stime": now, "Etime": now})
	for _, step := range []struct {
		at   int64
		want network.Status
	}{
		{0, network.StatusSuccess}, {300, network.StatusReplay}, {600, network.StatusReplay}, {601, network.StatusTimestamp}, {0, network.StatusReplay},
	} {
		f.clock.unix.Store(now + step.at)
		if a := f.post(path, body); a.Status != step.want {
			t.Errorf("after %d s: Status %d: %s; want %d", step.at, a.Status, a.Message, step.want)
		}
	}
}

// Of the same request sent many times at once, one is taken.
func TestReplaysAtOnce(t *testing.T) {
	f := start(t, refuseReplays)
	now := f.clock.unix.Load()
	body := f.signed(appKey, appSecret, ordersQuery, params{"Stime": now, "Etime": now})
	var taken, refused atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch a := f.post("/"+appKey+"/"+ordersQuery, bytes.Clone(body)); a.Status {
			case network.StatusSuccess:
				taken.Add(1)
			case network.StatusReplay:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d taken, %d refused", taken.Load(), refused.Load())
	}
}

// Without the setting a request may be sent again, and without a window the
// setting is refused.
func TestReplaysAreASetting(t *testing.T) {
	f := start(t, nil)
	now := f.clock.unix.Load()
	body := f.signed(appKey, appSecret, ordersQuery, params{"Stime": now, "Etime": now})
	for range 2 {
		if a := f.post("/"+appKey+"/"+ordersQuery, body); a.Status != network.StatusSuccess {
			t.Errorf("Status %d: %s", a.Status, a.Message)
		}
	}
	_, err := network.Open(t.Context(), network.Config{DB: filepath.Join(t.TempDir(), "n.db"), RefuseReplays: true, TimestampWindow: -1})
	var wrong *network.ConfigError
	if !errors.As(err, &wrong) || wrong.Field != "RefuseReplays" {
		t.Errorf("err = %v", err)
	}
}
