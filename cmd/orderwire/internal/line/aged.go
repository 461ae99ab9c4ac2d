package line

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
)

// agedMemory bounds what an endpoint that catches up holds of the archive's
// events, beside its window.
const agedMemory = 4 << 20

// aged reads from the archive what has aged out of the log, for the endpoints. An
// archive that is not there yet has nothing.
type aged struct {
	dir   string
	first func(ctx context.Context) (uint64, error) // oldest sequence of the log

	mu     sync.Mutex
	search *archive.Search // nil before it is needed
}

// open returns the search. The error wraps [pipeline.ErrGone] where there is no
// archive.
func (a *aged) open(ctx context.Context) (*archive.Search, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.search != nil {
		return a.search, nil
	}
	s, err := archive.OpenSearch(ctx, a.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", pipeline.ErrGone, err)
	}
	a.search = s
	return s, err
}

// whole fails when the archive has not all of a range, which may be empty.
func whole(ctx context.Context, s *archive.Search, from, until uint64) error {
	if from > until {
		return nil
	}
	first, last, err := s.Missing(ctx, from, until)
	if err == nil && first > 0 {
		err = fmt.Errorf("events %d to %d: %w", first, last, pipeline.ErrGone)
	}
	return err
}

// next is the [pipeline.Recall] of what came before the log's first event.
func (a *aged) next(ctx context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error) {
	first, err := a.first(ctx)
	if err != nil {
		return schema.Entry{}, false, err
	}
	s, err := a.open(ctx)
	if err != nil {
		return schema.Entry{}, false, err
	}
	until := first - 1
	e, found, err := s.Next(ctx, key, from, until)
	if found {
		until = e.Sequence
	}
	if err == nil {
		err = whole(ctx, s, from, until)
	}
	return e, found && err == nil, err
}

// events is the [pipeline.Older].
func (a *aged) events(ctx context.Context, from, until uint64) iter.Seq2[schema.Entry, error] {
	return func(yield func(schema.Entry, error) bool) {
		s, err := a.open(ctx)
		if err == nil {
			err = whole(ctx, s, from, until)
		}
		if err != nil {
			yield(schema.Entry{}, err)
			return
		}
		archive.Events(ctx, archive.EventsConfig{Dir: a.dir, From: from, Until: until, Memory: agedMemory})(yield)
	}
}

// Close lets go of the archive. It may be called on nil.
func (a *aged) Close() error {
	if a == nil || a.search == nil {
		return nil
	}
	return a.search.Close()
}
