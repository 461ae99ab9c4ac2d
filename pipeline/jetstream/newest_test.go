package jetstream_test

import (
	"fmt"
	"testing"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// Dead letters are read from the newest backwards, of one sink or of all, and the
// end is told.
func TestNewestDead(t *testing.T) {
	t.Parallel()
	log := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	if letters, next, err := log.NewestDead(t.Context(), "", 0, 3); err != nil || len(letters) != 0 || next != 0 {
		t.Errorf("none: %v, %d, %v", letters, next, err)
	}
	for n := uint64(1); n <= 7; n++ {
		letter := pipeline.DeadLetter{Sink: []string{"a", "b"}[n%2], Sequence: n, Raw: []byte("x")}
		if err := log.Bury(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		sink   string
		before uint64
		limit  int
		want   string
		next   uint64
	}{
		{"", 0, 3, "[7 6 5]", 5}, {"", 5, 3, "[4 3 2]", 2}, {"", 2, 3, "[1]", 0}, {"", 0, 7, "[7 6 5 4 3 2 1]", 0}, {"", 99, 1, "[7]", 7},
		{"b", 0, 2, "[7 5]", 5}, {"b", 5, 9, "[3 1]", 0}, {"a", 0, 9, "[6 4 2]", 0}, {"c", 0, 9, "[]", 0}, {"", 1, 9, "[]", 0},
	} {
		letters, next, err := log.NewestDead(t.Context(), tt.sink, tt.before, tt.limit)
		got := []uint64{}
		for _, d := range letters {
			got = append(got, d.Sequence)
		}
		if err != nil || fmt.Sprint(got) != tt.want || next != tt.next {
			t.Errorf("%+v: %v, next %d, %v", tt, got, next, err)
		}
	}
}
