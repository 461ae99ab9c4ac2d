package endpoints_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Two keys, and what a configuration says of them.
const (
	oldKey  = "encryption: {key: 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='}\n"
	newKey  = "encryption: {key: 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY='}\n"
	bothKey = "encryption: {key: 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=', previous_keys: ['MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=']}\n"
)

// keyed returns managers on one log, with these configurations of keys.
func keyed(tb testing.TB, keys ...string) (*jetstream.Log, []*endpoints.Manager) {
	tb.Helper()
	log := pipelinetest.Log(tb, pipelinetest.Server(tb, tb.TempDir()).URL())
	all := make([]*endpoints.Manager, len(keys))
	for i, key := range keys {
		c, err := config.Parse("f.yaml", []byte(fileConfig+key))
		if err != nil {
			tb.Fatal(err)
		}
		all[i] = endpoints.New(c, log, nil)
	}
	return log, all
}

func stored(tb testing.TB, log *jetstream.Log, name string) jetstream.EndpointDocument {
	tb.Helper()
	d, found, err := log.LoadEndpoint(tb.Context(), name)
	if err != nil || !found {
		tb.Fatalf("%v, found %v", err, found)
	}
	return d
}

// secretOf returns the secret by which a manager signs, "" when it cannot.
func secretOf(tb testing.TB, m *endpoints.Manager, name string) string {
	tb.Helper()
	all, err := m.Webhooks(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, w := range all {
		if w.Name == name {
			return string(w.Secret)
		}
	}
	return ""
}

func seal(tb testing.TB, m *endpoints.Manager, want int) {
	tb.Helper()
	if n, err := m.Seal(tb.Context()); err != nil || n != want {
		tb.Errorf("%d sealed, %v; want %d", n, err, want)
	}
}

func TestSealedDefinitionTellsNothing(t *testing.T) {
	t.Parallel()
	log, m := keyed(t, oldKey, "", newKey)
	secret := add(t, m[0], partner("p")).Secret
	plain := add(t, m[1], partner("q")).Secret
	if !bytes.Contains(stored(t, log, "q").Value, []byte(plain)) {
		t.Error("without a key it does not stand in plain: this test sees nothing")
	}
	for _, hidden := range []string{secret, "example.com", "hidden", "main"} {
		if bytes.Contains(stored(t, log, "p").Value, []byte(hidden)) {
			t.Errorf("the bucket has %q", hidden)
		}
	}
	if secretOf(t, m[0], "p") != secret || secretOf(t, m[0], "q") != plain {
		t.Error("another secret than the one that was shown")
	}
	for _, blind := range m[1:] {
		if secretOf(t, blind, "p") != "" {
			t.Error("readable without its key")
		}
		if v := view(t, blind, "p"); !strings.Contains(v.Problem, "encryption.previous_keys") || v.URL != "" {
			t.Errorf("%+v", v)
		}
		if _, err := blind.Rotate(t.Context(), "p", endpoints.RotateOptions{}); err == nil || !strings.Contains(err.Error(), "is not configured") {
			t.Errorf("rotated without the key: %v", err)
		}
	}
	if err := m[1].Remove(t.Context(), "p"); err != nil {
		t.Errorf("one that cannot be read cannot be removed: %v", err)
	}
}

func TestSealedDefinitionIsOfItsEndpoint(t *testing.T) {
	t.Parallel()
	log, m := keyed(t, oldKey)
	add(t, m[0], partner("p"))
	add(t, m[0], partner("q"))
	p, q := stored(t, log, "p"), stored(t, log, "q")
	for name, value := range map[string][]byte{
		"another's": q.Value,
		"changed":   bytes.Replace(p.Value, []byte(`"sealed":"`), []byte(`"sealed":"AAAA`), 1),
		"cut":       []byte(`{"key":"` + strings.Split(string(p.Value), `"`)[3] + `","sealed":""}`),
	} {
		d := stored(t, log, "p")
		d.Value = value
		if _, err := log.UpdateEndpoint(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if v := view(t, m[0], "p"); !strings.Contains(v.Problem, "does not come from its key") {
			t.Errorf("%s: %q", name, v.Problem)
		}
	}
}

func TestSealChangesTheKey(t *testing.T) {
	t.Parallel()
	log, m := keyed(t, "", oldKey, bothKey, newKey)
	secrets := map[string]string{"p": add(t, m[0], partner("p")).Secret, "q": add(t, m[0], partner("q")).Secret}
	same := func(m *endpoints.Manager) {
		t.Helper()
		for name, secret := range secrets {
			if secretOf(t, m, name) != secret {
				t.Errorf("%s has another secret", name)
			}
		}
	}
	seal(t, m[0], 0)
	seal(t, m[1], 2)
	seal(t, m[1], 0)
	same(m[1])
	rotated, err := m[2].Rotate(t.Context(), "p", endpoints.RotateOptions{Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	secrets["p"] = rotated.Secret
	same(m[2])
	seal(t, m[2], 1) // p was encrypted anew when it was rotated
	same(m[3])
	bad := stored(t, log, "q")
	bad.Value = []byte("{")
	if _, err := log.UpdateEndpoint(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	seal(t, m[2], 0)
	if !bytes.Equal(stored(t, log, "q").Value, bad.Value) {
		t.Error("one that cannot be read was written over")
	}
}
