package pipeline

import (
	"context"
	"errors"
	"fmt"
)

// GapError says that events left the log, by its bounds of age and size, before
// a sink or an endpoint took them. It stands still, because to go on would
// lose them without a word.
type GapError struct {
	Name        string // of the sink or the endpoint
	From, Until uint64 // first and last sequence of what is missing
	Hint        string // what to do about it
}

// Error names the gap and says what to do.
func (e *GapError) Error() string {
	return fmt.Sprintf("events %d to %d have aged out of the log before %s took them; %s", e.From, e.Until, e.Name, e.Hint)
}

func isGap(err error) bool {
	var gap *GapError
	return errors.As(err, &gap)
}

// Retention lets a runner notice that the log has lost events. The zero value
// notices nothing.
type Retention struct {
	// First returns the sequence of the oldest event that the log holds; of the one
	// to come when it holds none.
	First func(ctx context.Context) (uint64, error)
	// Skip is a sequence up to which missing events are passed over; 0: none are.
	Skip uint64
	// Fresh lets one who has taken nothing yet begin with the oldest event that
	// there is. Otherwise it has to begin with sequence 1.
	Fresh bool
	// Hint says what to do about a gap. Required with First.
	Hint func(from, until uint64) string
}

// behind returns the sequence behind which to read on after last. The error is a
// [GapError] when the log no longer holds what follows.
func (r *Retention) behind(ctx context.Context, name string, last uint64) (uint64, error) {
	if r.First == nil {
		return last, nil
	}
	first, err := r.First(ctx)
	switch {
	case err != nil:
		return last, err
	case first <= last+1:
		return last, nil
	case last == 0 && r.Fresh, first-1 <= r.Skip:
		return first - 1, nil
	}
	from := max(last, r.Skip) + 1
	return last, &GapError{Name: name, From: from, Until: first - 1, Hint: r.Hint(from, first-1)}
}

// behind is that of Retention for a cursor, some of whose missing events may
// have been settled before.
func (r *route) behind(ctx context.Context, last uint64) (uint64, error) {
	next, err := r.cfg.Retention.behind(ctx, "endpoint "+r.cfg.Name, last)
	var gap *GapError
	if !errors.As(err, &gap) {
		return next, err
	}
	until := gap.Until
	for gap.From <= until && r.window.settledBefore(gap.From) {
		gap.From++
	}
	for gap.Until >= gap.From && r.window.settledBefore(gap.Until) {
		gap.Until--
	}
	if gap.From > gap.Until {
		return until, nil
	}
	gap.Hint = r.cfg.Retention.Hint(gap.From, gap.Until)
	return last, gap
}
