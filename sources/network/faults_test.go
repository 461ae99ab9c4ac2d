package network_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/sources/network"
)

// allKinds are the faults in the order of the package.
var allKinds = []network.Fault{
	network.FaultServerError, network.FaultTooMany, network.FaultHalfJSON,
	network.FaultHTML, network.FaultBusy, network.FaultHang,
}

const fullAnswer = `{"Status":0,"Message":"success","Data":{"List":[]}}`

// faulty serves fullAnswer through faults.
func faulty(t *testing.T, c network.FaultsConfig) (*network.Faults, *httptest.Server) {
	t.Helper()
	f, err := network.NewFaults(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "51")
		io.WriteString(w, fullAnswer)
	}), c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Cleanup(f.Close) // before the server, which waits for requests
	return f, server
}

func TestFaultKinds(t *testing.T) {
	checks := map[network.Fault]func(res *http.Response, body string) bool{
		network.FaultServerError: func(res *http.Response, _ string) bool { return res.StatusCode == 500 },
		network.FaultTooMany: func(res *http.Response, body string) bool {
			return res.StatusCode == 429 && res.Header.Get("Retry-After") == "2" && strings.Contains(body, `"Status":42900`)
		},
		network.FaultHalfJSON: func(res *http.Response, body string) bool {
			return res.StatusCode == 200 && body == fullAnswer[:len(fullAnswer)/2] && !json.Valid([]byte(body))
		},
		network.FaultHTML: func(res *http.Response, body string) bool {
			return res.StatusCode == 200 && strings.HasPrefix(body, "<!DOCTYPE html>")
		},
		network.FaultBusy: func(res *http.Response, body string) bool {
			return res.StatusCode == 200 && body == `{"Status":50301,"Message":"system busy"}`
		},
	}
	for kind, check := range checks {
		t.Run(string(kind), func(t *testing.T) {
			f, server := faulty(t, network.FaultsConfig{Rate: 1, Kinds: []network.Fault{kind}, RetryAfter: 2 * time.Second})
			res, err := http.Post(server.URL, "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || !check(res, string(body)) {
				t.Errorf("HTTP %d, %v: %s", res.StatusCode, err, body)
			}
			if !maps.Equal(f.Counts(), map[network.Fault]int{kind: 1}) {
				t.Errorf("counts %v", f.Counts())
			}
		})
	}
}

// A hang ends when the client gives up, at its bound, and when the faults are
// closed; the connection is dropped without an answer.
func TestFaultHangs(t *testing.T) {
	hang := []network.Fault{network.FaultHang}
	t.Run("client gives up", func(t *testing.T) {
		_, server := faulty(t, network.FaultsConfig{Rate: 1, Kinds: hang})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(make([]byte, 1<<16)))
		if err != nil {
			t.Fatal(err)
		}
		if err := answered(http.DefaultClient.Do(req)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		server.Close() // waits for the handler
	})
	t.Run("bound", func(t *testing.T) {
		_, server := faulty(t, network.FaultsConfig{Rate: 1, Kinds: hang, MaxHang: time.Millisecond})
		if err := answered(http.Post(server.URL, "", nil)); err == nil {
			t.Error("an answer came")
		}
	})
	t.Run("closed", func(t *testing.T) {
		f, server := faulty(t, network.FaultsConfig{Rate: 1, Kinds: hang})
		f.Close()
		f.Close()
		if err := answered(http.Post(server.URL, "", nil)); err == nil {
			t.Error("an answer came")
		}
	})
}

// answered closes an answer and returns why there is none.
func answered(res *http.Response, err error) error {
	if err == nil {
		res.Body.Close()
	}
	return err
}

// The share of faults is the rate, all kinds are as likely, and the seed
// decides.
func TestFaultDistribution(t *testing.T) {
	run := func(seed uint64, rate float64) (map[network.Fault]int, int) {
		served := 0
		f, err := network.NewFaults(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }),
			network.FaultsConfig{Rate: rate, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		f.Close() // so that nothing hangs
		for range 6000 {
			func() {
				defer func() { _ = recover() }() // a hang ends the handler so
				f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/a/b", nil))
			}()
		}
		return f.Counts(), served
	}
	counts, served := run(1, 0.2)
	all := 0
	for _, kind := range allKinds {
		n := counts[kind]
		all += n
		if n < 140 || n > 260 {
			t.Errorf("%s: %d times in 6000, want about 200", kind, n)
		}
	}
	if all < 1100 || all > 1300 || served != 6000-all+counts[network.FaultHalfJSON] {
		t.Errorf("%d faults, %d served", all, served)
	}
	if again, _ := run(1, 0.2); !maps.Equal(again, counts) {
		t.Error("the same seed gives other faults")
	}
	if none, served := run(1, 0); len(none) != 0 || served != 6000 {
		t.Errorf("rate 0: %v", none)
	}
	if _, err := network.NewFaults(http.NotFoundHandler(), network.FaultsConfig{Rate: 1.1}); err == nil {
		t.Error("a rate above 1 is accepted")
	}
	if _, err := network.NewFaults(http.NotFoundHandler(), network.FaultsConfig{Kinds: []network.Fault{"flood"}}); err == nil {
		t.Error("an unknown fault is accepted")
	}
}
