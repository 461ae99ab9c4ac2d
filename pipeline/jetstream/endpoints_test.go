package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// next takes one value of a channel.
func next[T any](tb testing.TB, in <-chan T) T {
	tb.Helper()
	select {
	case v, open := <-in:
		if !open {
			tb.Fatal("the channel is closed")
		}
		return v
	case <-time.After(10 * time.Second):
		tb.Fatal("nothing comes")
	}
	panic("unreachable")
}

// Whoever changes what another has changed since is told so, and a watch tells all
// of it, the beginning first.
func TestEndpointDocuments(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l, other := pipelinetest.Log(t, url), pipelinetest.Log(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	first, err := l.CreateEndpoint(ctx, "partner a.b", []byte(`1`))
	if err != nil {
		t.Fatal(err)
	}
	changes := other.WatchEndpoints(ctx)
	if d := next(t, changes); d.Name != "partner a.b" || string(d.Value) != "1" || d.Revision != first {
		t.Errorf("%+v", d)
	}
	if _, err := other.CreateEndpoint(ctx, "partner a.b", []byte(`2`)); !errors.Is(err, jetstream.ErrChanged) {
		t.Errorf("created twice: %v", err)
	}
	second, err := other.UpdateEndpoint(ctx, jetstream.EndpointDocument{Name: "partner a.b", Value: []byte(`3`), Revision: first})
	if err != nil {
		t.Fatal(err)
	}
	if d := next(t, changes); string(d.Value) != "3" || d.Revision != second {
		t.Errorf("%+v", d)
	}
	if _, err := l.UpdateEndpoint(ctx, jetstream.EndpointDocument{Name: "partner a.b", Value: []byte(`4`), Revision: first}); !errors.Is(err, jetstream.ErrChanged) {
		t.Errorf("changed on top of an old revision: %v", err)
	}
	if err := l.DeleteEndpoint(ctx, "partner a.b", first); !errors.Is(err, jetstream.ErrChanged) {
		t.Errorf("deleted by an old revision: %v", err)
	}
	if d, found, err := l.LoadEndpoint(ctx, "partner a.b"); err != nil || !found || string(d.Value) != "3" {
		t.Errorf("%+v, %v", d, err)
	}
	if err := l.DeleteEndpoint(ctx, "partner a.b", second); err != nil {
		t.Fatal(err)
	}
	if d := next(t, changes); d.Value != nil || d.Revision <= second {
		t.Errorf("%+v", d)
	}
	if _, found, err := l.LoadEndpoint(ctx, "partner a.b"); err != nil || found {
		t.Errorf("it is left: %v", err)
	}
	if _, err := l.CreateEndpoint(ctx, "partner a.b", []byte(`5`)); err != nil {
		t.Errorf("created again: %v", err)
	}
	if all, err := l.ListEndpoints(ctx); err != nil || len(all) != 1 || string(all[0].Value) != "5" {
		t.Errorf("%+v, %v", all, err)
	}
	cancel()
	for range changes { // until it is closed
	}
}

func TestWatchCursor(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l, other := pipelinetest.Log(t, url), pipelinetest.Log(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	save := func(name string, v int) {
		if err := other.SaveCursor(ctx, name, v); err != nil {
			t.Fatal(err)
		}
	}
	save("a", 1)
	told, err := l.WatchCursor(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, told); string(got) != "1" {
		t.Errorf("%s", got)
	}
	save("b", 2)
	save("a", 3)
	if got := next(t, told); string(got) != "3" {
		t.Errorf("%s", got)
	}
	if err := other.DeleteCursor(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if got := next(t, told); got != nil {
		t.Errorf("%s", got)
	}
	for i := range 100 { // nobody takes them: the last one is what counts
		save("a", i)
	}
	for got := string(next(t, told)); got != "99"; {
		got = string(next(t, told))
	}
	cancel()
	for range told { // until it is closed
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l, other := pipelinetest.Log(t, url), pipelinetest.Log(t, url)
	if _, err := other.Call(t.Context(), "a b", []byte("x")); !errors.Is(err, jetstream.ErrNobody) {
		t.Errorf("%v", err)
	}
	stop, err := l.Serve(t.Context(), "a b", func(_ context.Context, request []byte) []byte { return append(request, '!') })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Last(t.Context()); err != nil { // the server knows of the subscription by then
		t.Fatal(err)
	}
	if answer, err := other.Call(t.Context(), "a b", []byte("x")); err != nil || string(answer) != "x!" {
		t.Errorf("%q, %v", answer, err)
	}
	stop()
	if _, err := l.Last(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Call(t.Context(), "a b", nil); !errors.Is(err, jetstream.ErrNobody) {
		t.Errorf("after the end: %v", err)
	}
}

func TestSequenceAt(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	at := func(when time.Time) uint64 {
		seq, err := l.SequenceAt(t.Context(), when)
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	if got := at(time.Now()); got != 1 {
		t.Errorf("of an empty log: %d", got)
	}
	mustPublish(t, l, created(t, 0, 100)...)
	mustPublish(t, l, created(t, 100, 150)...)
	entries := read(t, l, 0, 150)
	if got := at(entries[0].Stored.Add(-time.Hour)); got != 1 {
		t.Errorf("before the first: %d", got)
	}
	if got := at(time.Now().Add(time.Hour)); got != 151 {
		t.Errorf("behind the last: %d", got)
	}
	for _, i := range []int{0, 7, 100, 149} {
		want := uint64(1)
		for _, e := range entries {
			if e.Stored.Before(entries[i].Stored) {
				want = e.Sequence + 1
			}
		}
		if got := at(entries[i].Stored); got != want {
			t.Errorf("of event %d: %d, want %d", i+1, got, want)
		}
	}
}
