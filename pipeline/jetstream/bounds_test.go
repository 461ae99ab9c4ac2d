package jetstream_test

import (
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/nats-io/nats.go"

	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Bounds of an empty log, a whole one, a trimmed one, and one that has lost all.
func TestBounds(t *testing.T) {
	t.Parallel()
	server := pipelinetest.Server(t, t.TempDir())
	l := pipelinetest.Log(t, server.URL())
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), jetstream.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	check := func(first, last uint64) {
		t.Helper()
		gotFirst, gotLast, err := l.Bounds(t.Context())
		oldest, errFirst := l.First(t.Context())
		if err != nil || errFirst != nil || gotFirst != first || gotLast != last || oldest != first {
			t.Errorf("%d to %d, first %d, errors %v, %v; want %d to %d", gotFirst, gotLast, oldest, err, errFirst, first, last)
		}
	}
	check(1, 0)
	mustPublish(t, l, created(t, 0, 10)...)
	check(1, 10)
	if err := stream.Purge(t.Context(), natsjs.WithPurgeSequence(4)); err != nil {
		t.Fatal(err)
	}
	check(4, 10)
	if got := read(t, l, 1, 1)[0].Sequence; got != 4 {
		t.Errorf("the log goes on with %d; what it lacks is passed over without a word, and Retention is there to notice", got)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(11, 10)
	mustPublish(t, l, created(t, 10, 11)...)
	check(11, 11)
}
