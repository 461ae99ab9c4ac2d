package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

// Closed windows are read once each, in the order in which they were closed.
func TestReadCoverage(t *testing.T) {
	t.Parallel()
	log := pipelinetest.Log(t, pipelinetest.Server(t, t.TempDir()).URL())
	read := func(behind uint64) (uint64, string) {
		t.Helper()
		var got []string
		at, err := log.ReadCoverage(t.Context(), behind, func(account string, window []byte) error {
			got = append(got, account+" "+string(window))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return at, strings.Join(got, ", ")
	}
	if at, got := read(0); at != 0 || got != "" {
		t.Errorf("of nothing: %d, %s", at, got)
	}
	for i, account := range []string{"main", "a.b *", "main"} {
		if err := log.SaveCoverage(t.Context(), fmt.Sprintf("%s.%d", schema.EscapeToken(account), i%2), i); err != nil {
			t.Fatal(err)
		}
	}
	at, got := read(0)
	if at != 3 || got != "a.b * 1, main 2" {
		t.Errorf("got %d, %s", at, got)
	}
	if again, got := read(at); again != at || got != "" {
		t.Errorf("again: %d, %s", again, got)
	}
	if err := log.SaveCoverage(t.Context(), "main.9", 9); err != nil {
		t.Fatal(err)
	}
	if at, got := read(at); at != 4 || got != "main 9" {
		t.Errorf("what has come: %d, %s", at, got)
	}
	refused := errors.New("refused")
	if at, err := log.ReadCoverage(t.Context(), 0, func(string, []byte) error { return refused }); !errors.Is(err, refused) || at != 0 {
		t.Errorf("refused: %d, %v", at, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.ReadCoverage(ctx, 0, func(string, []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
