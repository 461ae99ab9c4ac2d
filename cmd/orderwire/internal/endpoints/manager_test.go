package endpoints_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

const fileConfig = `webhooks:
  - {name: from-file, url: 'https://example.com/hook', secret: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='}
accounts:
  - {name: main, base_url: 'https://example.com', app_key: k, app_secret: s}
`

// managed returns a manager, the log, and another connection's manager.
func managed(tb testing.TB) (*endpoints.Manager, *jetstream.Log, *endpoints.Manager) {
	tb.Helper()
	c, err := config.Parse("f.yaml", []byte(fileConfig))
	if err != nil {
		tb.Fatal(err)
	}
	url := pipelinetest.Server(tb, tb.TempDir()).URL()
	log := pipelinetest.Log(tb, url)
	return endpoints.New(c, log, nil), log, endpoints.New(c, pipelinetest.Log(tb, url), nil)
}

func partner(name string) endpoints.Definition {
	return endpoints.Definition{Name: name, URL: "https://partner.example.com/in?token=hidden", Accounts: []string{"main"}, Timeout: config.Duration(time.Second)}
}

func add(tb testing.TB, m *endpoints.Manager, d endpoints.Definition) endpoints.Secret {
	tb.Helper()
	secret, err := m.Add(tb.Context(), d, endpoints.Start{})
	if err != nil {
		tb.Fatal(err)
	}
	return secret
}

func view(tb testing.TB, m *endpoints.Manager, name string) endpoints.View {
	tb.Helper()
	v, err := m.Get(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestAddedBesideTheFile(t *testing.T) {
	t.Parallel()
	m, log, other := managed(t)
	if secret := add(t, m, partner("b")); !strings.HasPrefix(secret.Secret, "whsec_") || secret.PublicKey != "" {
		t.Errorf("%+v", secret)
	}
	d := partner("a a")
	d.Secret = endpoints.Ed25519
	key := add(t, other, d)
	if !strings.HasPrefix(key.Secret, "whsk_") || !strings.HasPrefix(key.PublicKey, "whpk_") {
		t.Errorf("%+v", key)
	}
	all, err := m.List(t.Context())
	if err != nil || len(all) != 3 || all[0].Name != "from-file" || all[1].Name != "a a" || all[2].Name != "b" {
		t.Fatalf("%v: %+v", err, all)
	}
	if v := all[1]; v.URL != "https://partner.example.com" || v.Origin != "added" || v.State != "active" || v.PublicKeys[0] != key.PublicKey || v.Created.IsZero() {
		t.Errorf("%+v", v)
	}
	hooks, err := other.Webhooks(t.Context())
	if err != nil || len(hooks) != 3 || string(hooks[1].Secret) == "" || time.Duration(hooks[1].Timeout) != time.Second {
		t.Errorf("%v: %+v", err, hooks)
	}
	for name, want := range map[string]error{"b": endpoints.ErrExists, "from-file": endpoints.ErrExists} {
		if _, err := other.Add(t.Context(), partner(name), endpoints.Start{}); !errors.Is(err, want) {
			t.Errorf("%s again: %v", name, err)
		}
	}
	if err := m.Remove(t.Context(), "from-file"); !errors.Is(err, endpoints.ErrFromFile) || !strings.Contains(err.Error(), "f.yaml") {
		t.Errorf("%v", err)
	}
	for _, err := range []error{m.Remove(t.Context(), "c"), m.Pause(t.Context(), "c", ""), m.Resume(t.Context(), "c")} {
		if !errors.Is(err, endpoints.ErrUnknown) {
			t.Errorf("an unknown one: %v", err)
		}
	}
	var cursor pipeline.Cursor
	if found, err := log.LoadCursor(t.Context(), "endpoint.b", &cursor); !found || err != nil {
		t.Errorf("no cursor: %v", err)
	}
}

// All that is wrong is told with its key, and nothing is stored.
func TestMistakesNameTheirKeys(t *testing.T) {
	t.Parallel()
	m, _, _ := managed(t)
	for key, spoil := range map[string]func(*endpoints.Definition){
		"name": func(d *endpoints.Definition) { d.Name = "" }, "url": func(d *endpoints.Definition) { d.URL = "http://example.com/" },
		"secret": func(d *endpoints.Definition) { d.Secret = "whsec_aaaa" }, "events[0]": func(d *endpoints.Definition) { d.Events = []string{"order.lost"} },
		"accounts[0]": func(d *endpoints.Definition) { d.Accounts = []string{"other"} }, "where": func(d *endpoints.Definition) { d.Where = "amuont > 1" },
		"rate_limit": func(d *endpoints.Definition) { d.RateLimit = -1 }, "on_exhausted": func(d *endpoints.Definition) { d.OnExhausted = "stop" },
		"headers.Host": func(d *endpoints.Definition) { d.Headers = map[string]string{"Host": "x"} }, "retry[0]": func(d *endpoints.Definition) { d.Retry = []config.Duration{-1} },
	} {
		d := partner("bad")
		spoil(&d)
		_, err := m.Add(t.Context(), d, endpoints.Start{})
		var mistake *config.Error
		if !errors.As(err, &mistake) || mistake.Path != key || mistake.What == "" {
			t.Errorf("%s: %v", key, err)
		}
	}
	if all, err := m.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v: %+v", err, all)
	}
}

func TestPausedAndResumedByAnybody(t *testing.T) {
	t.Parallel()
	m, log, other := managed(t)
	add(t, m, partner("a"))
	for _, name := range []string{"a", "from-file"} {
		if err := m.Pause(t.Context(), name, "moves house"); err != nil {
			t.Fatal(err)
		}
		if v := view(t, other, name); v.State != "paused" || v.Reason != "moves house" || time.Since(v.Since) > time.Minute {
			t.Errorf("%+v", v)
		}
		if err := other.Resume(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if v := view(t, m, name); v.State != "active" || v.Reason != "" {
			t.Errorf("%+v", v)
		}
	}
	disabled := map[string]any{"disabled": "the receiver answered 410 Gone", "broken": true, "resumes": 1}
	if err := log.SaveCursor(t.Context(), "standing.a", disabled); err != nil {
		t.Fatal(err)
	}
	if v := view(t, m, "a"); v.State != "disabled" {
		t.Errorf("%+v", v)
	}
	if err := m.Resume(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if v := view(t, m, "a"); v.State != "broken" {
		t.Errorf("%+v", v)
	}
}

// Nothing of a removed endpoint is left for one of the same name.
func TestRemovedBeginsAnew(t *testing.T) {
	t.Parallel()
	m, log, other := managed(t)
	add(t, m, partner("a"))
	p := pipeline.Parked{Key: schema.OrderKey{Account: "main", Program: "1", OrderSn: "2"}, First: 7}
	if err := log.SaveParked(t.Context(), "a", []pipeline.Parked{p}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Pause(t.Context(), "a", "x"), pipeline.Begin(t.Context(), log, "a", 99), other.Remove(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(t.Context(), "a"); !errors.Is(err, endpoints.ErrUnknown) {
		t.Errorf("%v", err)
	}
	var cursor pipeline.Cursor
	if found, err := log.LoadCursor(t.Context(), "endpoint.a", &cursor); found || err != nil {
		t.Errorf("the cursor is left: %v", err)
	}
	add(t, other, partner("a"))
	if v := view(t, m, "a"); v.State != "active" {
		t.Errorf("%+v", v)
	}
	if found, err := log.LoadCursor(t.Context(), "endpoint.a", &cursor); !found || err != nil || cursor.Floor != 0 {
		t.Errorf("it begins behind %d: %v", cursor.Floor, err)
	}
	if err := log.LoadParked(t.Context(), "a", func(p pipeline.Parked) { t.Errorf("left: %+v", p) }); err != nil {
		t.Error(err)
	}
}

// Of many who add the same name, one does, and its secret is the one that is kept.
func TestAddedByManyAtOnce(t *testing.T) {
	t.Parallel()
	one, _, two := managed(t)
	var mu sync.Mutex
	var added []string
	var all sync.WaitGroup
	for i := range 8 {
		m := []*endpoints.Manager{one, two}[i%2]
		all.Go(func() {
			secret, err := m.Add(t.Context(), partner("a"), endpoints.Start{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				added = append(added, secret.Secret)
			} else if !errors.Is(err, endpoints.ErrExists) && !errors.Is(err, endpoints.ErrBusy) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	hooks, err := one.Webhooks(t.Context())
	if err != nil || len(hooks) != 2 || len(added) != 1 || string(hooks[1].Secret) != added[0] {
		t.Errorf("%v: %d endpoints, %d added", err, len(hooks), len(added))
	}
}
