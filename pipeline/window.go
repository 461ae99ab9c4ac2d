package pipeline

import (
	"slices"
	"time"
)

// Cursor is how far a deliverer got: everything up to Floor is settled, and of
// what lies behind it, Done. An order that is parked counts as settled.
type Cursor struct {
	Floor uint64   `json:"floor"`
	Done  []uint64 `json:"done,omitempty"` // ascending, all above Floor
}

// window holds the events that were taken from the log, from the oldest on that
// is not settled.
type window struct {
	floor  uint64   // everything up to it is settled
	newest uint64   // last sequence taken from the log
	before []uint64 // settled by an earlier pass, ascending, above floor
	taken  []taken  // ascending; those before head are done
	head   int
	open   int // taken and not settled
}

// taken is an event of the window.
type taken struct {
	seq    uint64
	stored time.Time
	done   bool
}

// add takes an event in; its sequence is above all others.
func (w *window) add(seq uint64, stored time.Time) {
	w.taken = append(w.taken, taken{seq: seq, stored: stored})
	w.open++
}

// mark settles a sequence and moves the floor as far as it can go. One that is
// not in the window is passed over.
func (w *window) mark(seq uint64) {
	live := w.taken[w.head:]
	at, found := slices.BinarySearchFunc(live, seq, func(t taken, seq uint64) int {
		switch {
		case t.seq < seq:
			return -1
		case t.seq > seq:
			return 1
		}
		return 0
	})
	if !found || live[at].done {
		return
	}
	live[at].done = true
	w.open--
	if at > 0 {
		return
	}
	for w.head < len(w.taken) && w.taken[w.head].done {
		w.head++
	}
	if w.head > len(w.taken)/2 {
		w.taken = append(w.taken[:0], w.taken[w.head:]...)
		w.head = 0
	}
	w.pass()
}

// pass moves the floor as far as it can go.
func (w *window) pass() { w.floor = max(w.floor, w.reached()) }

// reached returns the sequence up to which all is settled.
func (w *window) reached() uint64 {
	if w.head == len(w.taken) {
		return w.newest
	}
	return w.taken[w.head].seq - 1
}

// settledBefore reports whether an earlier pass has settled a sequence.
func (w *window) settledBefore(seq uint64) bool {
	_, found := slices.BinarySearch(w.before, seq)
	return found
}

// oldest returns when the oldest event was stored that is not settled, the zero
// time when all are.
func (w *window) oldest() time.Time {
	if w.head == len(w.taken) {
		return time.Time{}
	}
	return w.taken[w.head].stored
}

// cursor returns what to save.
func (w *window) cursor() Cursor {
	c := Cursor{Floor: w.floor}
	keep, _ := slices.BinarySearch(w.before, w.floor+1)
	w.before = w.before[keep:]
	c.Done = append(c.Done, w.before...)
	for _, t := range w.taken[w.head:] {
		if t.done && t.seq > w.floor {
			c.Done = append(c.Done, t.seq)
		}
	}
	slices.Sort(c.Done)
	return c
}
