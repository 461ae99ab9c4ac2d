package jetstream_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
)

// The dead letters of a sink come back as they were buried, and no others.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	log := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	read := func(sink string) (all []pipeline.Buried) {
		t.Helper()
		for d, err := range log.DeadLetters(t.Context(), sink) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
		}
		return all
	}
	if all := read("partner.a"); len(all) > 0 {
		t.Errorf("%v before the first", all)
	}
	var want []pipeline.DeadLetter
	for n := range 150 {
		d := pipeline.DeadLetter{
			Sink: "partner.a", Reason: "the receiver answered 500", Subject: "orders.main.1.SN.created", Sequence: uint64(n + 7), Attempts: n + 1,
			Raw: fmt.Appendf(nil, `{"n":%d}`, n),
		}
		want = append(want, d)
		other := d
		other.Sink = "partner"
		for _, d := range []pipeline.DeadLetter{d, other} {
			if err := log.Bury(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := read("partner.a")
	if len(got) != len(want) || len(read("partner")) != len(want) {
		t.Fatalf("%d letters, want %d", len(got), len(want))
	}
	for i, d := range got {
		same := d.Sink == want[i].Sink && d.Reason == want[i].Reason && d.Subject == want[i].Subject &&
			d.Sequence == want[i].Sequence && d.Attempts == want[i].Attempts && slices.Equal(d.Raw, want[i].Raw)
		if !same || d.At.IsZero() || d.Place != uint64(2*i+1) {
			t.Errorf("letter %d: %+v", i, d)
		}
	}
	one, found, err := log.DeadLetter(t.Context(), got[3].Place)
	if err != nil || !found || one.Sequence != want[3].Sequence || !slices.Equal(one.Raw, want[3].Raw) || !one.At.Equal(got[3].At) {
		t.Errorf("by its place: %+v, found %v, error %v", one, found, err)
	}
	if _, found, err := log.DeadLetter(t.Context(), 999); err != nil || found {
		t.Errorf("one that is none: found %v, error %v", found, err)
	}
	for range log.DeadLetters(t.Context(), "partner") {
		break
	}
}
