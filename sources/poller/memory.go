package poller

import "sync"

// maxBuried bounds the memory of bad records that were buried already.
const maxBuried = 10_000

// memory knows the content hashes of bad records, so that a record that comes
// with every poll is buried once.
type memory struct {
	mu   sync.Mutex
	seen map[uint64]bool
}

// first notes a record and reports whether it is new.
func (m *memory) first(content uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[content] {
		return false
	}
	if m.seen == nil || len(m.seen) >= maxBuried {
		m.seen = make(map[uint64]bool)
	}
	m.seen[content] = true
	return true
}

// forget takes a record back that could not be buried.
func (m *memory) forget(content uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, content)
}
