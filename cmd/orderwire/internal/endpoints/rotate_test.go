package endpoints_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// secrets returns what signs, the newest first.
func secrets(tb testing.TB, m *endpoints.Manager, name string) []string {
	tb.Helper()
	all, err := m.Webhooks(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	var signing []string
	for _, w := range all {
		if w.Name == name {
			for _, s := range append([]config.Secret{w.Secret}, w.PreviousSecrets...) {
				signing = append(signing, string(s))
			}
		}
	}
	return signing
}

func rotate(tb testing.TB, m *endpoints.Manager, o endpoints.RotateOptions) endpoints.Secret {
	tb.Helper()
	s, err := m.Rotate(tb.Context(), "a", o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestRotate(t *testing.T) {
	t.Parallel()
	m, _, other := managed(t)
	first := add(t, m, partner("a")).Secret
	second := rotate(t, m, endpoints.RotateOptions{}).Secret
	if got := secrets(t, other, "a"); !slices.Equal(got, []string{second, first}) {
		t.Errorf("%d secrets", len(got))
	}
	if v := view(t, m, "a"); v.Signatures != 2 || time.Until(v.Rotates).Round(time.Hour) != 24*time.Hour {
		t.Errorf("%+v", v)
	}
	third := rotate(t, other, endpoints.RotateOptions{Keep: -1, Ed25519: true})
	if got := secrets(t, m, "a"); !slices.Equal(got, []string{third.Secret, second, first}) || third.PublicKey == "" {
		t.Errorf("%d secrets", len(got))
	}
	if last := rotate(t, m, endpoints.RotateOptions{Finish: true}); last.Secret != "" || last.PublicKey != third.PublicKey {
		t.Errorf("%+v", last.PublicKey)
	}
	if got := secrets(t, m, "a"); !slices.Equal(got, []string{third.Secret}) {
		t.Errorf("%d secrets", len(got))
	}
	for range 15 {
		rotate(t, m, endpoints.RotateOptions{Keep: time.Hour})
	}
	_, err := m.Rotate(t.Context(), "a", endpoints.RotateOptions{})
	var mistake *config.Error
	if !errors.As(err, &mistake) || mistake.Path != "previous_secrets" || !strings.Contains(err.Error(), "--finish") {
		t.Errorf("%v", err)
	}
	if _, err := m.Rotate(t.Context(), "from-file", endpoints.RotateOptions{}); !errors.Is(err, endpoints.ErrFromFile) || !strings.Contains(err.Error(), "previous_secrets") {
		t.Errorf("%v", err)
	}
}

func TestOldSecretExpires(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	d := endpoints.Definition{Secret: "new", PreviousSecrets: []endpoints.Previous{
		{Secret: "soon", Until: now.Add(time.Minute)}, {Secret: "late", Until: now.Add(time.Hour)}, {Secret: "stays"},
	}}
	for after, want := range map[time.Duration]struct {
		secrets int
		next    time.Duration
	}{0: {3, time.Minute}, time.Minute: {2, time.Hour}, time.Hour: {1, 0}} {
		w := d.Webhook(now.Add(after))
		next := d.Expires(now.Add(after))
		if len(w.PreviousSecrets) != want.secrets || want.next > 0 && !next.Equal(now.Add(want.next)) || want.next == 0 && !next.IsZero() {
			t.Errorf("after %s: %d secrets, the next until %s", after, len(w.PreviousSecrets), next)
		}
	}
}

// Of many who rotate at once, each gets a secret that signs.
func TestRotatedByManyAtOnce(t *testing.T) {
	t.Parallel()
	one, _, two := managed(t)
	made := []string{add(t, one, partner("a")).Secret}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 4 {
		m := []*endpoints.Manager{one, two}[i%2]
		all.Go(func() {
			s, err := m.Rotate(t.Context(), "a", endpoints.RotateOptions{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, s.Secret)
		})
	}
	all.Wait()
	got := secrets(t, one, "a")
	slices.Sort(got)
	slices.Sort(made)
	if !slices.Equal(got, made) {
		t.Errorf("%d secrets sign of %d", len(got), len(made))
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	m, log, _ := managed(t)
	var events []*message.Message
	for n := range 10 {
		e := pipelinetest.Event("main", n, 1)
		msg, err := pipeline.NewMessage(&e, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, msg)
	}
	if err := log.Publisher().Publish(pipeline.Topic, events...); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		start endpoints.Start
		floor uint64
		fails bool
	}{
		"now": {endpoints.Start{}, 10, false}, "first": {endpoints.Start{First: true}, 0, false}, "seven": {endpoints.Start{Sequence: 7}, 6, false},
		"next": {endpoints.Start{Sequence: 11}, 10, false}, "beyond": {endpoints.Start{Sequence: 12}, 0, true},
		"long ago": {endpoints.Start{Time: time.Now().Add(-time.Hour)}, 0, false}, "later": {endpoints.Start{Time: time.Now().Add(time.Hour)}, 10, false},
	} {
		_, err := m.Add(t.Context(), partner(name), tt.start)
		if errors.Is(err, endpoints.ErrStart) != tt.fails || err != nil && !tt.fails {
			t.Errorf("%s: %v", name, err)
		}
		var cursor pipeline.Cursor
		if found, err := log.LoadCursor(t.Context(), "endpoint."+schema.EscapeToken(name), &cursor); err != nil || found == tt.fails || cursor.Floor != tt.floor {
			t.Errorf("%s: begins behind %d, %v", name, cursor.Floor, err)
		}
	}
}

func TestTestOfAnEndpoint(t *testing.T) {
	t.Parallel()
	m, _, _ := managed(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer server.Close()
	d := partner("a")
	d.URL, d.AllowPrivate = server.URL, true
	add(t, m, d)
	if r, err := m.Test(t.Context(), "a"); err != nil || r.Status != http.StatusAccepted || r.Reason != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := m.Test(t.Context(), "b"); !errors.Is(err, endpoints.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// courier is one that is asked.
type courier func(key schema.OrderKey, skip bool) error

func (c courier) Release(_ context.Context, key schema.OrderKey, skip bool) error {
	return c(key, skip)
}

func TestReleaseReachesTheProcess(t *testing.T) {
	t.Parallel()
	m, log, other := managed(t)
	add(t, m, partner("a"))
	key := schema.OrderKey{Account: "main", Program: "1042", OrderSn: "SN 1"}
	if err := other.Release(t.Context(), "a", key, true); !errors.Is(err, endpoints.ErrNotRunning) {
		t.Errorf("nobody runs it: %v", err)
	}
	asked := make(chan bool, 1)
	stop, err := endpoints.Serve(t.Context(), log, "a", courier(func(got schema.OrderKey, skip bool) error {
		if got != key {
			return pipeline.ErrNotParked
		}
		asked <- skip
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Last(t.Context()); err != nil { // the server knows of the subscription by then
		t.Fatal(err)
	}
	if err := other.Release(t.Context(), "a", key, true); err != nil || !<-asked {
		t.Errorf("%v", err)
	}
	if err := other.Release(t.Context(), "a", schema.OrderKey{Account: "x", OrderSn: "y"}, false); !errors.Is(err, pipeline.ErrNotParked) {
		t.Errorf("%v", err)
	}
	removed := make(chan error, 1)
	go func() { removed <- other.Remove(t.Context(), "a") }()
	select {
	case err := <-removed:
		t.Errorf("removed under a process that delivers: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	stop()
	if err := <-removed; err != nil {
		t.Error(err)
	}
}
