package archive

import (
	"fmt"
	"testing"

	"github.com/orderwire/orderwire/sinks/archive/internal/parquetfile"
)

// Each text has one place, in the order of coming, however often the table grows
// and is emptied.
func TestWords(t *testing.T) {
	t.Parallel()
	var texts parquetfile.Texts
	w := newWords(&texts)
	for round := range 3 {
		texts.Reset()
		w.reset()
		for range 2 {
			for n := range 5000 {
				if got := w.place(fmt.Sprint("text ", n)); got != int64(n) {
					t.Fatalf("round %d: text %d has place %d", round, n, got)
				}
			}
		}
		if texts.Len() != 5000 {
			t.Fatalf("round %d: %d texts", round, texts.Len())
		}
	}
}

// Texts of one hash are told apart.
func TestWordsOfOneHash(t *testing.T) {
	t.Parallel()
	var texts parquetfile.Texts
	w := newWords(&texts)
	w.place("a")
	texts.Reset()
	texts.AppendString("b") // has a's slot now
	if got := w.place("a"); got != 1 || string(texts.At(1)) != "a" {
		t.Errorf("place %d", got)
	}
	if got := w.place("a"); got != 1 {
		t.Errorf("place %d the second time", got)
	}
}
