package jetstream_test

import (
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

func TestStoredBehind(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	if seq, at, err := l.StoredBehind(t.Context(), 0); seq != 0 || !at.IsZero() || err != nil {
		t.Errorf("an empty log: %d, %s, %v", seq, at, err)
	}
	begun := time.Now()
	mustPublish(t, l, created(t, 0, 3)...)
	for behind, want := range map[uint64]uint64{0: 1, 2: 3, 3: 0, 99: 0} {
		seq, at, err := l.StoredBehind(t.Context(), behind)
		if err != nil || seq != want || want != 0 && (at.Before(begun.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute))) {
			t.Errorf("behind %d: %d, %s, %v; want %d", behind, seq, at, err, want)
		}
	}
}

func TestDeadLettersAreCounted(t *testing.T) {
	t.Parallel()
	l := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	for seq := range uint64(5) {
		for _, sink := range []string{"partner", "partner.b"}[:1+seq%2] {
			if err := l.Bury(t.Context(), pipeline.DeadLetter{Sink: sink, Sequence: seq, Raw: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for sink, want := range map[string]uint64{"partner": 5, "partner.b": 2, "nobody": 0} {
		if n, err := l.CountDead(t.Context(), sink); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", sink, n, err, want)
		}
	}
}
