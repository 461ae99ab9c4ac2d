package jetstream_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// A consumer that stays behind is kept by the server for minutes, and the
// server takes a limited number of them.
func TestLoadIndexLeavesNoConsumer(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	mustPublish(t, l, created(t, 0, 2)...)
	for range 3 {
		if err := pipelinetest.Log(t, url).LoadIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	js := admin(t, url)
	for _, name := range []string{jetstream.StreamName, "KV_" + jetstream.StateBucket} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for names := s.ConsumerNames(t.Context()); ; {
			left, ok := <-names.Name()
			if !ok {
				break
			}
			t.Errorf("stream %s keeps consumer %s", name, left)
		}
	}
}

// Loaded again, the index learns what another writer has stored since.
func TestLoadIndexFollowsOtherWriters(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	writer, other := pipelinetest.Log(t, url), pipelinetest.Log(t, url)
	load := func() {
		t.Helper()
		if err := other.LoadIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	load()
	mustPublish(t, writer, created(t, 0, 3)...)
	load()
	mustPublish(t, other, newMessage(t, 5, 1, 0))
	mustPublish(t, writer, newMessage(t, 1, 2, 2), newMessage(t, 7, 1, 0))
	load()
	for n, want := range map[int]uint64{0: 1, 1: 2, 5: 1, 7: 1} {
		if got, _ := other.Known(key(n)); got.Version != want {
			t.Errorf("order %d: version %d, want %d", n, got.Version, want)
		}
	}
}

// Messages once had a header for the version and another for the hash.
func TestLoadIndexReadsOlderHeaders(t *testing.T) {
	t.Parallel()
	url := pipelinetest.Server(t, t.TempDir()).URL()
	l := pipelinetest.Log(t, url)
	m := newMessage(t, 1, 2, 0)
	old := nats.NewMsg(m.Metadata.Get(pipeline.MetaSubject))
	old.Data = m.Payload
	old.Header = nats.Header{"Orderwire-Version": {"2"}, "Orderwire-Content": {"0123456789abcdef"}, "Nats-Msg-Id": {m.UUID}}
	if _, err := admin(t, url).PublishMsg(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := l.LoadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := pipeline.Known{Sequence: 1, Version: 2, Content: 0x0123456789abcdef}
	if got, _ := l.Known(key(1)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
