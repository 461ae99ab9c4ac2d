// Package replay reads a range of events from the log and, what has aged out of
// it, from the archive, and hands it to an endpoint or to the commission books.
package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// Log is what a replay needs of the log.
type Log interface {
	// Bounds returns the sequences of the oldest and the newest event that it
	// holds; first is last + 1 when it holds none.
	Bounds(ctx context.Context) (first, last uint64, err error)
	// Follow reads it behind a sequence.
	Follow(ctx context.Context, after uint64) (<-chan *message.Message, error)
}

// Source is where events come from: from the log what it holds, and from the
// archive what it holds no longer.
type Source struct {
	Log     Log    // nil: the archive alone
	Archive string // its folder or address; "": the log alone
	// SkipMissing goes on where neither has events, instead of a [MissingError].
	SkipMissing bool
	// Logger is told what is passed over. Required.
	Logger *slog.Logger
}

// Range says which events are wanted. The zero value of a filter lets all pass.
type Range struct {
	From    uint64    `json:"from,omitzero"`   // sequences, both included; 0: the first,
	Until   uint64    `json:"until,omitzero"`  // the newest
	Since   time.Time `json:"since,omitzero"`  // broker time
	Before  time.Time `json:"before,omitzero"` // not included
	Account string    `json:"account,omitzero"`
	Program string    `json:"program,omitzero"`
	Order   string    `json:"order,omitzero"`
	IDs     []string  `json:"events,omitempty"` // ids of events
}

func (r *Range) wants(e *schema.Entry) bool {
	o := &e.Event.Data.Order
	return (r.Since.IsZero() || !e.Stored.Before(r.Since)) && (r.Before.IsZero() || e.Stored.Before(r.Before)) &&
		(r.Account == "" || e.Event.Data.Account == r.Account) && (r.Program == "" || o.ProgramID.String() == r.Program) &&
		(r.Order == "" || o.OrderSn.String() == r.Order) && (len(r.IDs) == 0 || slices.Contains(r.IDs, e.Event.ID))
}

// mentions reports whether an event's document can be one that is wanted by its id,
// without reading it: an id needs no escapes.
func (r *Range) mentions(raw []byte) bool {
	return len(r.IDs) == 0 || slices.ContainsFunc(r.IDs, func(id string) bool { return bytes.Contains(raw, []byte(id)) })
}

// MissingError says that events of a range are in none of the places.
type MissingError struct {
	From, Until uint64
	Places      string // where they were looked for
}

// Error names the events and says what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("events %d to %d are not in %s; --skip-missing goes on without them", e.From, e.Until, e.Places)
}

// End returns the newest sequence that there is.
func (s *Source) End(ctx context.Context) (uint64, error) {
	if s.Log != nil {
		_, last, err := s.Log.Bounds(ctx)
		return last, err
	}
	commits, err := archive.ReadManifest(ctx, s.Archive)
	if err != nil || len(commits) == 0 {
		return 0, err
	}
	return commits[len(commits)-1].Last, nil
}

// Resolve fills in where a range begins and ends. The error is a [MissingError] for
// one that goes beyond an archive that is read alone.
func (s *Source) Resolve(ctx context.Context, r Range) (Range, error) {
	end, err := s.End(ctx)
	if err != nil {
		return r, err
	}
	if r.Until > end && s.Log == nil {
		return r, &MissingError{From: max(r.From, end+1), Until: r.Until, Places: "the archive at " + s.Archive}
	}
	if r.Until == 0 || r.Until > end {
		r.Until = end
	}
	r.From = max(r.From, 1)
	return r, nil
}

// Entries reads a range in the order of the log, each event once. Where the
// log loses events meanwhile, it goes on in the archive. reached is told now
// and then up to which sequence everything was handed over. The error is a
// [MissingError] for events that are nowhere.
func (s *Source) Entries(ctx context.Context, r Range, reached func(uint64)) iter.Seq2[schema.Entry, error] {
	return func(yield func(schema.Entry, error) bool) {
		x := &reading{Source: s, r: r, next: max(r.From, 1), reached: reached}
		left := len(r.IDs)
		x.take = func(e schema.Entry) bool {
			left--
			x.stopped = !yield(e, nil) || left == 0
			return !x.stopped
		}
		if err := x.run(ctx); err != nil && !x.stopped {
			yield(schema.Entry{}, err)
		}
	}
}

// reading is one pass over a range.
type reading struct {
	*Source
	r       Range
	next    uint64 // everything before it was handed over
	take    func(schema.Entry) bool
	stopped bool // take wants no more, or all ids were found
	reached func(uint64)
}

func (x *reading) run(ctx context.Context) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	for x.next <= x.r.Until && !x.stopped {
		first, err := x.first(ctx)
		if err != nil {
			return err
		}
		if x.next < first {
			err = x.fromArchive(ctx, min(x.r.Until, first-1))
		} else {
			err = x.fromLog(ctx)
		}
		if err != nil {
			return err
		}
		x.reached(x.next - 1)
	}
	return nil
}

// first returns the oldest sequence that need not come from the archive.
func (x *reading) first(ctx context.Context) (uint64, error) {
	if x.Log == nil {
		return math.MaxUint64, nil
	}
	first, _, err := x.Log.Bounds(ctx)
	return first, err
}

// fromArchive reads up to a sequence, after it has made sure that all of it is
// there.
func (x *reading) fromArchive(ctx context.Context, until uint64) error {
	commits, err := x.commits(ctx)
	if err != nil {
		return err
	}
	for from := x.next; from != 0 && from <= until; {
		first, last := archive.Missing(commits, from, until)
		if first == 0 {
			break
		}
		missing := &MissingError{From: first, Until: last, Places: x.places()}
		if !x.SkipMissing {
			return missing
		}
		x.Logger.Warn("passed over", "from", first, "until", last, "reason", "not in "+missing.Places)
		from = last + 1
	}
	if len(commits) > 0 {
		if err := x.archived(ctx, until); err != nil || x.stopped {
			return err
		}
	}
	x.next = until + 1
	return nil
}

func (x *reading) archived(ctx context.Context, until uint64) error {
	for e, err := range archive.Events(ctx, archive.EventsConfig{
		Dir: x.Archive, From: x.next, Until: until, Since: x.r.Since, Before: x.r.Before,
		Account: x.r.Account, Program: x.r.Program, Order: x.r.Order, IDs: x.r.IDs, Progress: x.reached,
	}) {
		if err != nil {
			return err
		}
		x.next = e.Sequence + 1
		if !x.take(e) {
			return nil
		}
	}
	return nil
}

// commits returns the manifest; none where there is no archive.
func (x *reading) commits(ctx context.Context) ([]archive.Commit, error) {
	if x.Archive == "" {
		return nil, nil
	}
	commits, err := archive.ReadManifest(ctx, x.Archive)
	var damaged *archive.ManifestError
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged) {
		return nil, nil
	}
	return commits, err
}

func (x *reading) places() string {
	switch {
	case x.Log == nil:
		return "the archive at " + x.Archive
	case x.Archive == "":
		return "the log"
	default:
		return "the log, nor in the archive at " + x.Archive
	}
}
