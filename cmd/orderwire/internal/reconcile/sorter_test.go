package reconcile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/orderwire/orderwire/schema"
)

// However many runs there are, the newest record of each order comes once, by its
// key, and as it went in; also when it is asked for again.
func TestSorter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		s := &sorter{dir: t.TempDir(), most: 16}
		newest, dice := map[schema.OrderKey]record{}, rand.New(rand.NewPCG(uint64(n), 1))
		for i := range n {
			r := record{
				Key:     schema.OrderKey{Account: fmt.Sprint(dice.IntN(2)), Program: []string{"", "书", "7\x00"}[dice.IntN(3)], OrderSn: fmt.Sprint(dice.IntN(n))},
				Version: dice.Uint64(), Sequence: uint64(dice.IntN(n)*1000 + i), ObservedAt: "x", Vanished: dice.IntN(2) == 0,
				Day: "2026-03-01", Status: fmt.Sprint(i), Currency: "CNY", OrderAmount: dice.Int64() - dice.Int64(), Commission: -int64(i),
			}
			if old, known := newest[r.Key]; !known || r.Sequence > old.Sequence {
				newest[r.Key] = r
			}
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var last *record
			seen := 0
			for r, err := range s.sorted() {
				if err != nil {
					t.Fatal(err)
				}
				if seen++; r != newest[r.Key] || last != nil && compareKeys(last.Key, r.Key) >= 0 {
					t.Fatalf("%+v behind %+v, want %+v", r, last, newest[r.Key])
				}
				last = &r
			}
			if seen != len(newest) {
				t.Errorf("%d records, want %d", seen, len(newest))
			}
		}
		if n == 1000 && len(s.runs) < 50 {
			t.Errorf("%d runs", len(s.runs))
		}
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	of := func(names ...string) *sorter {
		s := &sorter{}
		for _, name := range names {
			if err := s.add(record{Key: schema.OrderKey{OrderSn: name}}); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	var got []string
	for p, err := range pairs(of("c", "a", "d").sorted(), of("b", "c", "e").sorted()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(p.either().Key.OrderSn, " ", p.books != nil, " ", p.there != nil))
	}
	if want := []string{"a true false", "b false true", "c true true", "d true false", "e false true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
