package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// newMessage wraps version v of order n, expecting the order's last event at a
// sequence.
func newMessage(tb testing.TB, n int, v, expected uint64) *message.Message {
	tb.Helper()
	e := pipelinetest.Event("main", n, v)
	m, err := pipeline.NewMessage(&e, expected, uint64(n)<<8|v)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func publish(tb testing.TB, l *jetstream.Log, msgs ...*message.Message) error {
	tb.Helper()
	return l.Publisher().Publish(pipeline.Topic, msgs...)
}

// mustPublish stores the messages in the order given.
func mustPublish(tb testing.TB, l *jetstream.Log, msgs ...*message.Message) {
	tb.Helper()
	for batch := range slices.Chunk(msgs, jetstream.MaxBatch) {
		if err := publish(tb, l, batch...); err != nil {
			tb.Fatal(err)
		}
	}
}

func created(tb testing.TB, from, to int) []*message.Message {
	tb.Helper()
	var msgs []*message.Message
	for n := from; n < to; n++ {
		msgs = append(msgs, newMessage(tb, n, 1, 0))
	}
	return msgs
}

func key(n int) schema.OrderKey {
	return schema.OrderKey{Account: "main", Program: "1042", OrderSn: fmt.Sprintf("SN-%06d", n)}
}

// read takes n entries of the log behind a sequence.
func read(tb testing.TB, l *jetstream.Log, after uint64, n int) []schema.Entry {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	in, err := l.Follow(ctx, after)
	if err != nil {
		tb.Fatal(err)
	}
	var all []schema.Entry
	for len(all) < n {
		msg, open := <-in
		if !open {
			tb.Fatalf("the subscription ended after %d of %d entries", len(all), n)
		}
		msg.Ack()
		e, err := pipeline.ReadEntry(msg)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestPublishAndFollow(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, created(t, 0, 2500)...)
	for i, e := range read(t, l, 0, 2500) {
		if e.Sequence != uint64(i+1) || e.Event.Key() != key(i) || e.Subject != key(i).Subject(schema.OrderCreated) {
			t.Fatalf("entry %d: sequence %d, key %s, subject %s", i, e.Sequence, e.Event.Key(), e.Subject)
		}
	}
	if got := read(t, l, 2000, 1)[0].Sequence; got != 2001 {
		t.Errorf("behind 2000 comes %d", got)
	}
	if last, err := l.Last(t.Context()); err != nil || last != 2500 {
		t.Errorf("Last = %d, %v", last, err)
	}
}

func TestOneOrderTwiceInACall(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	mustPublish(t, l, newMessage(t, 1, 1, 0), newMessage(t, 2, 1, 0), newMessage(t, 1, 2, 1))
	got := read(t, l, 0, 3)
	if got[0].Event.Data.Version != 1 || got[2].Event.Data.Version != 2 || got[2].Event.Key() != key(1) {
		t.Errorf("versions %d and %d of %s", got[0].Event.Data.Version, got[2].Event.Data.Version, got[2].Event.Key())
	}
}

func TestIndexAndStateSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := pipelinetest.Server(t, dir)
	first := pipelinetest.Log(t, server.URL())
	mustPublish(t, first, created(t, 0, 1500)...)
	mustPublish(t, first, newMessage(t, 7, 2, 8))
	if err := errors.Join(first.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}

	l := pipelinetest.Log(t, pipelinetest.Server(t, dir).URL())
	if err := l.LoadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.Orders() != 1500 {
		t.Errorf("index holds %d orders", l.Orders())
	}
	for n, want := range map[int]pipeline.Known{
		7: {Sequence: 1501, Version: 2, Content: 7<<8 | 2}, 1499: {Sequence: 1500, Version: 1, Content: 1499<<8 | 1},
	} {
		if got, ok := l.Known(key(n)); !ok || got != want {
			t.Errorf("order %d: %+v, %v; want %+v", n, got, ok, want)
		}
	}
	state, err := l.Load(t.Context(), key(7))
	if err != nil || state.Sequence != 1501 || state.Event.Data.Version != 2 {
		t.Errorf("Load = %+v, %v", state, err)
	}
	if state, err := l.Load(t.Context(), key(99999)); err != nil || state.Event != nil || state.Sequence != 0 {
		t.Errorf("Load of an unknown order = %+v, %v", state, err)
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	var got pipeline.Cursor
	if found, err := l.LoadCursor(t.Context(), "endpoint.a", &got); found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
	want := pipeline.Cursor{Floor: 7, Done: []uint64{9}}
	if err := l.SaveCursor(t.Context(), "endpoint.a", want); err != nil {
		t.Fatal(err)
	}
	found, err := l.LoadCursor(t.Context(), "endpoint.a", &got)
	if !found || err != nil || got.Floor != 7 || len(got.Done) != 1 {
		t.Fatalf("%+v, %v, %v", got, found, err)
	}
}

func TestTwoServersOneDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipelinetest.Server(t, dir)
	_, err := jetstream.StartEmbedded(t.Context(), jetstream.EmbeddedConfig{Dir: dir})
	if !errors.Is(err, jetstream.ErrDirInUse) {
		t.Errorf("err = %v", err)
	}
}
