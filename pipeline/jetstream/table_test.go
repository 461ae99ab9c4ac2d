package jetstream

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/orderwire/orderwire/pipeline"
)

// A table says of every order what a plain map would, whatever it went through.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	var x index
	want := make(map[uint64]pipeline.Known)
	for range 200_000 {
		hash := dice.Uint64N(30_000) * 0x9e3779b97f4a7c15 // few enough to come again, spread over all shards
		if dice.IntN(50) == 0 {
			hash %= 64 // and some that want the same slots
		}
		k := pipeline.Known{Sequence: dice.Uint64(), Version: 1 + dice.Uint64N(9), Content: dice.Uint64()}
		old := want[hash]
		if dice.IntN(4) == 0 {
			x.touch(hash, k.Version, k.Content)
			if old.Version == k.Version {
				old.Content = k.Content
				want[hash] = old
			}
			continue
		}
		x.set(hash, k)
		if k.Version >= old.Version {
			want[hash] = k
		}
	}
	for hash, k := range want {
		if got, ok := x.get(hash); !ok || got != k {
			t.Fatalf("%x: %+v, %v, want %+v", hash, got, ok, k)
		}
	}
	if orders, _ := x.size(); orders != len(want) {
		t.Errorf("%d orders, want %d", orders, len(want))
	}
	if k, ok := x.get(0xdead); ok {
		t.Errorf("an order that was never there: %+v", k)
	}
}

// An order costs 64 bytes at most, at whatever number of orders.
func TestTableSize(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(3, 4))
	var x index
	worst := 0.0
	for n := 1; n <= 300_000; n++ {
		x.set(dice.Uint64(), pipeline.Known{Version: 1})
		if n%997 == 0 && n > 20_000 {
			orders, bytes := x.size()
			worst = max(worst, float64(bytes)/float64(orders))
		}
	}
	if worst > 64 || worst < 56 {
		t.Errorf("%.1f bytes an order at worst", worst)
	}
	if size := reflect.TypeFor[slot]().Size(); size != slotBytes {
		t.Errorf("a slot has %d bytes", size)
	}
}

// What no order has is not taken in: the order stays unknown, and is looked up
// in the log when it comes.
func TestTableLimits(t *testing.T) {
	t.Parallel()
	var x index
	x.set(1, pipeline.Known{Version: 1 << 32})
	x.set(2, pipeline.Known{Version: 0, Sequence: 7})
	x.set(3, pipeline.Known{Version: 1<<32 - 1, Sequence: 1<<64 - 1, Content: 1<<64 - 1})
	for hash, want := range map[uint64]bool{1: false, 2: false, 3: true} {
		if k, ok := x.get(hash); ok != want {
			t.Errorf("%d: %+v, %v", hash, k, ok)
		}
	}
	if k, _ := x.get(3); k.Sequence != 1<<64-1 || k.Content != 1<<64-1 {
		t.Errorf("%+v", k)
	}
}

// Batches that go side by side are acknowledged in any order; the index is
// complete up to the first gap.
func TestCompleteness(t *testing.T) {
	t.Parallel()
	var c completeness
	c.stored(11, 20)
	c.stored(31, 40)
	if upTo, loaded := c.state(); upTo != 0 || loaded {
		t.Errorf("behind a gap: %d, %v", upTo, loaded)
	}
	c.stored(1, 10)
	if upTo, _ := c.state(); upTo != 20 {
		t.Errorf("the gap filled: %d", upTo)
	}
	c.complete(30) // others stored 21 to 30
	if upTo, loaded := c.state(); upTo != 40 || !loaded {
		t.Errorf("after a load: %d, %v", upTo, loaded)
	}
	for first := uint64(50); first < 50+20*maxGaps; first += 20 {
		c.stored(first, first+9)
	}
	if len(c.ahead) > maxGaps {
		t.Errorf("%d gaps are remembered", len(c.ahead))
	}
}
