package archive

import (
	"hash/maphash"

	"github.com/orderwire/orderwire/sinks/archive/internal/parquetfile"
)

// words finds texts in the dictionary of a column. It is a hash table without
// pointers: each slot has 32 bits of the hash above the place plus one, 0 for a
// free slot. At most half of the slots are taken.
type words struct {
	texts *parquetfile.Texts // the dictionary
	seed  maphash.Seed
	slots []uint64 // their number is a power of two
}

const fewestSlots = 64

func newWords(texts *parquetfile.Texts) *words {
	return &words{texts: texts, seed: maphash.MakeSeed(), slots: make([]uint64, fewestSlots)}
}

// place returns the place of a text in the dictionary, and adds it when it is new.
func (w *words) place(s string) int64 {
	hash := maphash.String(w.seed, s) >> 32
	last := uint64(len(w.slots) - 1)
	at := hash & last
	for ; w.slots[at] != 0; at = (at + 1) & last {
		if slot := w.slots[at]; slot>>32 == hash {
			if place := int(uint32(slot)) - 1; string(w.texts.At(place)) == s {
				return int64(place)
			}
		}
	}
	w.texts.AppendString(s)
	count := w.texts.Len()
	w.slots[at] = hash<<32 | uint64(count)
	if 2*count >= len(w.slots) {
		w.grow()
	}
	return int64(count - 1)
}

// grow doubles the slots.
func (w *words) grow() {
	old := w.slots
	w.slots = make([]uint64, 2*len(old))
	last := uint64(len(w.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 & last
		for w.slots[at] != 0 {
			at = (at + 1) & last
		}
		w.slots[at] = slot
	}
}

func (w *words) reset() { clear(w.slots) }
