package jetstream

import (
	"context"
	"fmt"
	"time"
)

// SequenceAt returns the sequence of the first event that was stored at a time or
// later, of those that the log holds; the one to come when there is none.
func (l *Log) SequenceAt(ctx context.Context, at time.Time) (uint64, error) {
	first, last, err := l.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	for first <= last {
		middle := first + (last-first)/2
		found, err := l.ask(ctx, map[string]any{"seq": middle})
		switch {
		case err != nil:
			return 0, fmt.Errorf("stream %s, event %d: %w", StreamName, middle, err)
		case found == nil || found.Time.Before(at): // none: it has aged out meanwhile
			first = middle + 1
		default:
			last = middle - 1
		}
	}
	return first, nil
}
