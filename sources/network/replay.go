package network

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxTaken bounds how many signed requests are remembered, of some 60 bytes
// each.
const maxTaken = 1 << 20

// takenSet remembers the signed requests of the clock window, so that none of
// them is taken twice. It knows what this process has seen.
type takenSet struct {
	window int64 // seconds, either way
	most   int

	mu     sync.Mutex
	oldest int64                 // Timestamps before it are forgotten
	bySent map[int64][]signature // the requests by their Timestamp
	known  map[signature]struct{}
}

// signature tells signed requests apart: it stands for a key and a Sign.
type signature [16]byte

func newTakenSet(window time.Duration) *takenSet {
	return &takenSet{
		window: int64(window / time.Second), most: maxTaken,
		bySent: map[int64][]signature{}, known: map[signature]struct{}{},
	}
}

// take remembers a request with its Timestamp, which is within the window of
// now, both in Unix seconds. It refuses one that it knows, one from a time that
// it has forgotten since the clock was set back, and any when it is full.
func (t *takenSet) take(key, sign string, sent, now int64) error {
	sum := sha256.Sum256([]byte(key + "/" + sign))
	id := signature(sum[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now - t.window)
	if _, again := t.known[id]; again {
		return refuse(StatusReplay, "this request was taken already, sign a new one")
	}
	switch {
	case sent < t.oldest:
		return refuse(StatusTimestamp, "Timestamp: the service's clock was set back, try again later")
	case len(t.known) >= t.most:
		return refuse(StatusTooMany, "too many signed requests within the clock window, try again later")
	}
	t.known[id] = struct{}{}
	t.bySent[sent] = append(t.bySent[sent], id)
	return nil
}

// forget drops what was sent before a time.
func (t *takenSet) forget(before int64) {
	if before <= t.oldest {
		return
	}
	if before-t.oldest > int64(len(t.bySent)) { // rather than second by second
		for sent := range t.bySent {
			if sent < before {
				t.drop(sent)
			}
		}
	} else {
		for sent := t.oldest; sent < before; sent++ {
			t.drop(sent)
		}
	}
	t.oldest = before
}

func (t *takenSet) drop(sent int64) {
	for _, id := range t.bySent[sent] {
		delete(t.known, id)
	}
	delete(t.bySent, sent)
}
