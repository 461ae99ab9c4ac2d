package jetstream

import (
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/orderwire/orderwire/pipeline"
)

const (
	// shards of a table grow one by one, so that growing costs little room
	// beside the table and holds up few.
	shardBits = 6
	// A shard is at most seven eighths full. Doubled, it is seven sixteenths
	// full, which is what makes an entry of 28 bytes cost 64 at most.
	fullNumerator, fullDenominator = 7, 8
	// firstSlots is the size of a shard with its first order.
	firstSlots = 16
)

// table maps the hash of an order's key to what is known of the order, in flat
// arrays: 32 to 64 bytes an order, and nothing in it for the garbage collector
// to look at. Two orders of one hash share a slot, which costs time and nothing
// else: whoever reads an order's event by its sequence checks whose it is.
type table struct {
	shards [1 << shardBits]shard
}

// shard is a hash table with open addressing and linear probing. Nothing is
// ever taken out.
type shard struct {
	mu    sync.RWMutex
	slots []slot // a power of two
	used  int
}

// slot is 28 bytes, because its fields are aligned to four.
type slot struct {
	hash, content, sequence word
	version                 uint32 // 0 marks an empty slot
}

// word is a 64-bit number that needs no alignment to eight bytes.
type word [2]uint32

func wordOf(n uint64) word { return word{uint32(n), uint32(n >> 32)} }

func (w word) number() uint64 { return uint64(w[1])<<32 | uint64(w[0]) }

func (s *slot) known() pipeline.Known {
	return pipeline.Known{Sequence: s.sequence.number(), Version: uint64(s.version), Content: s.content.number()}
}

func hashKey(key string) uint64 { return xxh3.HashString(key) }

func (t *table) shard(hash uint64) *shard { return &t.shards[hash>>(64-shardBits)] }

// get returns what is known of an order.
func (t *table) get(hash uint64) (pipeline.Known, bool) {
	s := t.shard(hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.slots) == 0 {
		return pipeline.Known{}, false
	}
	found := s.find(hash)
	return found.known(), found.version != 0
}

// update changes what is known of an order, which is zero when nothing is. It
// keeps what change returns, unless that has no version or one that is above
// 2^32-1, which no order reaches.
func (t *table) update(hash uint64, change func(old pipeline.Known) pipeline.Known) {
	s := t.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom()
	at := s.find(hash)
	k := change(at.known())
	if k.Version == 0 || k.Version > 1<<32-1 {
		return
	}
	if at.version == 0 {
		s.used++
	}
	*at = slot{hash: wordOf(hash), content: wordOf(k.Content), sequence: wordOf(k.Sequence), version: uint32(k.Version)}
}

// find returns the slot of a hash, or the empty one where it would go.
func (s *shard) find(hash uint64) *slot {
	mask := uint64(len(s.slots) - 1)
	want := wordOf(hash)
	for i := hash & mask; ; i = (i + 1) & mask {
		if at := &s.slots[i]; at.version == 0 || at.hash == want {
			return at
		}
	}
}

// makeRoom sees to it that one more order fits.
func (s *shard) makeRoom() {
	if (s.used+1)*fullDenominator <= len(s.slots)*fullNumerator {
		return
	}
	old := s.slots
	s.slots = make([]slot, max(firstSlots, 2*len(old)))
	for i := range old {
		if old[i].version != 0 {
			*s.find(old[i].hash.number()) = old[i]
		}
	}
}

// size returns the number of orders, and the bytes that they take.
func (t *table) size() (orders, bytes int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.RLock()
		orders += s.used
		bytes += len(s.slots) * slotBytes
		s.mu.RUnlock()
	}
	return orders, bytes
}

const slotBytes = 28
