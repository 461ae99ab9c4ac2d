package replay

import (
	"github.com/orderwire/orderwire/schema"
)

// Report says what a replay has done, or would do.
type Report struct {
	To     string `json:"to"`      // "webhook=partner", "commission"
	DryRun bool   `json:"dry_run"` // nothing was sent
	From   uint64 `json:"from"`    // the range, both ends included
	Until  uint64 `json:"until"`
	// Events were read and belong to the range, its filters, and the endpoint's.
	Events uint64                      `json:"events"`
	First  uint64                      `json:"first_sequence"` // of these, 0 for none
	Last   uint64                      `json:"last_sequence"`
	Types  map[schema.EventType]uint64 `json:"types"`
	// Known are events at or below the position that the books had before; they
	// change nothing that the books hold.
	Known uint64 `json:"already_booked"`
	// Refused are events that the books can never take.
	Refused uint64 `json:"refused"`
	// Delivered are deliveries that the endpoint has acknowledged.
	Delivered uint64 `json:"delivered"`
	// Rate is the most attempts in a second, 0 for no bound, and Seconds how long the
	// events take at that, if the receiver can. Of an endpoint only.
	Rate    float64 `json:"rate,omitzero"`
	Seconds float64 `json:"estimated_seconds,omitzero"`
	// Unknown are ids of events that were asked for and are nowhere in the range.
	Unknown []string `json:"unknown_events,omitempty"`
	// Next is where to go on, as --from; 0 when nothing is left to do.
	Next uint64 `json:"next"`
}

// count takes an event into the figures.
func (r *Report) count(e *schema.Entry) {
	if r.Types == nil {
		r.Types = make(map[schema.EventType]uint64)
	}
	if r.Events++; r.First == 0 {
		r.First = e.Sequence
	}
	r.Last = e.Sequence
	r.Types[e.Event.Type]++
}
