package endpoints

import (
	"slices"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// tally adds up what one endpoint is owed.
type tally struct {
	Owed
	wants     func(*schema.Event) bool
	unordered bool
	cursor    pipeline.Cursor
	orders    map[schema.OrderKey]*lane
	singles   map[uint64]*lane // events that are parked by themselves
}

// lane is a parked order, or a single event of one.
type lane struct {
	first, version uint64
	met            bool // an event of it was read
}

func newTally(name string, wants func(*schema.Event) bool, unordered bool) *tally {
	return &tally{
		Owed: Owed{Endpoint: name}, wants: wants, unordered: unordered,
		orders: make(map[schema.OrderKey]*lane), singles: make(map[uint64]*lane),
	}
}

// park takes a parked order in.
func (a *tally) park(p pipeline.Parked) {
	a.ParkedOrders++
	if p.Held {
		a.HeldOrders++
	}
	if p.Single != 0 {
		a.singles[p.Single] = &lane{first: p.Single}
		return
	}
	a.orders[p.Key] = &lane{first: p.First, version: p.Version}
}

// begin returns the sequence behind which the first event can be.
func (a *tally) begin() uint64 {
	from := a.cursor.Floor
	for _, l := range a.orders {
		from = min(from, l.first-min(l.first, 1))
	}
	for seq := range a.singles {
		from = min(from, seq-1)
	}
	return from
}

// unsettled reports whether the cursor has not passed a sequence.
func (a *tally) unsettled(seq uint64) bool {
	if seq <= a.cursor.Floor {
		return false
	}
	_, done := slices.BinarySearch(a.cursor.Done, seq)
	return !done
}

// concerns reports whether an event can be owed, by its sequence alone.
func (a *tally) concerns(seq uint64) bool {
	return len(a.orders) > 0 || len(a.singles) > 0 || a.unsettled(seq)
}

// owes reports whether an event is owed if it is wanted, and by which parked order:
// that is owed all from its first event on, and none before, whatever the cursor says.
func (a *tally) owes(seq uint64, key schema.OrderKey) (owed bool, parked *lane) {
	l := a.orders[key]
	switch {
	case l != nil && seq >= l.first:
		return true, l
	case a.singles[seq] != nil:
		return true, a.singles[seq]
	case l != nil && !a.unordered:
		return false, nil
	}
	return a.unsettled(seq), nil
}

// add counts an event that the endpoint is owed if it wants it.
func (a *tally) add(e *schema.Entry, parked *lane) {
	if parked != nil {
		if !parked.met && parked.version != 0 && e.Event.Data.Version > parked.version {
			a.ParkedAgedOut++ // the first one that it is owed is not there
		}
		parked.met = true
	}
	if !a.wants(&e.Event) {
		return
	}
	a.Events++
	if parked != nil {
		a.ParkedEvents++
	}
	if a.Oldest == nil {
		a.Oldest = &OldestOwed{Sequence: e.Sequence, Stored: e.Stored}
	}
}

// close completes the report; first is the oldest sequence that the log has.
func (a *tally) close(first, last uint64, o OwedOptions) Owed {
	a.Floor, a.Last = a.cursor.Floor, last
	a.Gap = a.gap(first, o.Skip)
	for _, l := range a.orders {
		if !l.met && l.first < first {
			a.ParkedAgedOut++
		}
	}
	for seq := range a.singles {
		if seq < first {
			a.ParkedAgedOut++
		}
	}
	if a.Oldest != nil {
		a.Oldest.Age = max(0, o.Now.Sub(a.Oldest.Stored).Seconds())
	}
	return a.Owed
}

// gap is what the log has lost behind the cursor. An endpoint that has not begun
// begins with the oldest event that there is.
func (a *tally) gap(first, skip uint64) *Gap {
	g := &Gap{From: max(a.cursor.Floor, skip) + 1, Until: first - min(first, 1)}
	if a.cursor.Floor == 0 {
		return nil
	}
	for g.From <= g.Until && !a.unsettled(g.From) {
		g.From++
	}
	for g.Until >= g.From && !a.unsettled(g.Until) {
		g.Until--
	}
	if g.From > g.Until {
		return nil
	}
	from, _ := slices.BinarySearch(a.cursor.Done, g.From)
	until, _ := slices.BinarySearch(a.cursor.Done, g.Until)
	g.Events = g.Until - g.From + 1 - uint64(until-from)
	return g
}
