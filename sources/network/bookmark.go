package network

import (
	"cmp"
	"slices"
	"sync"
)

// place is a position in a list: behind the order with this time and id.
type place struct{ at, id int64 }

// mark is a place with the number of orders of the list that stand before it.
type mark struct {
	offset int64
	place  place
}

// bookmarks remember, for the lists that were read last, their totals and where
// their pages end, so that the next page of a list neither counts nor skips.
// They hold for one state of the orders, which is known by its last change.
// The zero value is ready; it may be used from any number of goroutines.
type bookmarks struct {
	mu         sync.Mutex
	young, old map[string]*bookmark // by listing.key
}

// bookmark is what is remembered of one list.
type bookmark struct {
	change int64 // last one of the state that this holds for
	total  int64 // unknown when negative
	marks  []mark
}

const (
	maxBookmarks = 256  // of each generation
	maxMarks     = 4096 // of a list
)

// recall returns the total of a list, negative when it is unknown, and the last
// known place at or before an offset.
func (b *bookmarks) recall(key string, change, offset int64) (total int64, at mark, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry := b.entry(key)
	if entry == nil || entry.change != change {
		return -1, mark{}, false
	}
	i, exact := entry.find(offset)
	if !exact {
		i--
	}
	if i < 0 {
		return entry.total, mark{}, false
	}
	return entry.total, entry.marks[i], true
}

// remember keeps what a page has shown of a list. What is known of an earlier
// state is forgotten.
func (b *bookmarks) remember(key string, change, total int64, marks ...mark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry := b.entry(key)
	switch {
	case entry == nil:
		entry = &bookmark{change: change, total: total}
		b.keep(key, entry)
	case entry.change > change:
		return
	case entry.change < change:
		*entry = bookmark{change: change, total: total}
	}
	entry.total = max(entry.total, total)
	for _, m := range marks {
		entry.add(m)
	}
}

// entry finds what is remembered of a list and makes it young again.
func (b *bookmarks) entry(key string) *bookmark {
	if entry, found := b.young[key]; found {
		return entry
	}
	entry, found := b.old[key]
	if found {
		b.keep(key, entry)
	}
	return entry
}

// keep adds an entry. When there are too many, those that were not used for
// the longest time are forgotten.
func (b *bookmarks) keep(key string, entry *bookmark) {
	if b.young == nil || len(b.young) >= maxBookmarks {
		b.young, b.old = map[string]*bookmark{}, b.young
	}
	b.young[key] = entry
}

func (e *bookmark) find(offset int64) (int, bool) {
	return slices.BinarySearchFunc(e.marks, offset, func(m mark, offset int64) int { return cmp.Compare(m.offset, offset) })
}

// add keeps a mark. Of too many, every other one goes: the orders in between
// are then skipped one by one.
func (e *bookmark) add(m mark) {
	i, known := e.find(m.offset)
	if known {
		return
	}
	if len(e.marks) >= maxMarks {
		for n := range maxMarks / 2 {
			e.marks[n] = e.marks[2*n+1]
		}
		e.marks = e.marks[:maxMarks/2]
		i, _ = e.find(m.offset)
	}
	e.marks = slices.Insert(e.marks, i, m)
}
