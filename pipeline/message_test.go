package pipeline_test

import (
	"math"
	"testing"

	"github.com/orderwire/orderwire/pipeline"
)

func TestState(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]uint64{
		"0-0000000000000000":                    {0, 0},
		"12-00000000000abcde":                   {12, 0xabcde},
		"18446744073709551615-ffffffffffffffff": {math.MaxUint64, math.MaxUint64},
	} {
		if got := pipeline.FormatState(want[0], want[1]); got != text {
			t.Errorf("%v: got %s, want %s", want, got, text)
		}
		if version, content, ok := pipeline.ParseState(text); !ok || version != want[0] || content != want[1] {
			t.Errorf("%s: got %d, %x, %v", text, version, content, ok)
		}
	}
	for _, text := range []string{"", "-", "12", "12-", "-0123456789abcdef", "12-0123", "12-0123456789abcdeg", "12-0123456789abcdef0", "1-2-0123456789abcdef", "x-0123456789abcdef"} {
		if version, content, ok := pipeline.ParseState(text); ok || version != 0 || content != 0 {
			t.Errorf("%s: got %d, %x, %v", text, version, content, ok)
		}
	}
}
