package jetstream_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

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
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
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
