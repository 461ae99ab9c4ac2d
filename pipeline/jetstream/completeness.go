package jetstream

import (
	"maps"
	"sync"
)

// maxGaps bounds the acknowledged batches that wait for one in front of them.
const maxGaps = 1000

// completeness is up to where the index holds every event of the stream.
// Batches that go side by side are acknowledged in any order.
type completeness struct {
	mu     sync.Mutex
	loaded bool              // the bucket was read
	upTo   uint64            // all events up to this sequence are in the index
	ahead  map[uint64]uint64 // first → last sequence of batches behind a gap
}

// state returns up to where the index is complete; loaded is false before the
// bucket was read.
func (c *completeness) state() (upTo uint64, loaded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.upTo, c.loaded
}

// stored notes that the events with these sequences are in the index.
func (c *completeness) stored(first, last uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ahead == nil || len(c.ahead) >= maxGaps { // others write too: the gaps are theirs, and stay
		c.ahead = make(map[uint64]uint64)
	}
	c.ahead[first] = last
	c.advance()
}

// advance takes in the batches that follow without a gap.
func (c *completeness) advance() {
	for {
		end, ok := c.ahead[c.upTo+1]
		if !ok {
			return
		}
		delete(c.ahead, c.upTo+1)
		c.upTo = end
	}
}

// complete notes that the index holds all events up to a sequence.
func (c *completeness) complete(upTo uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded, c.upTo = true, max(c.upTo, upTo)
	maps.DeleteFunc(c.ahead, func(first, _ uint64) bool { return first <= c.upTo })
	c.advance()
}
