package poller

import (
	"maps"
	"slices"

	"github.com/zeebo/xxh3"
)

// keySet is a set of orders, by a hash of their keys; with their names where
// vanished orders are looked for.
type keySet struct {
	hashes map[uint64]struct{}
	names  map[uint64]string // nil where nobody asks for them
}

func (r *recorder) newKeySet() keySet {
	s := keySet{hashes: make(map[uint64]struct{})}
	if r.cfg.Account.OrderField == CreationTime {
		s.names = make(map[uint64]string)
	}
	return s
}

// add takes in the order whose key has this text, and reports whether it was
// there already.
func (s *keySet) add(key []byte) (again bool) {
	h := xxh3.Hash(key)
	if _, again = s.hashes[h]; again {
		return true
	}
	s.hashes[h] = struct{}{}
	if s.names != nil {
		s.names[h] = string(key)
	}
	return false
}

func (s *keySet) addAll(other keySet) {
	maps.Copy(s.hashes, other.hashes)
	if s.names != nil {
		maps.Copy(s.names, other.names)
	}
}

func (s *keySet) has(key string) bool {
	_, ok := s.hashes[xxh3.HashString(key)]
	return ok
}

func (s *keySet) size() int { return len(s.hashes) }

// sorted returns the keys' texts.
func (s *keySet) sorted() []string { return slices.Sorted(maps.Values(s.names)) }
