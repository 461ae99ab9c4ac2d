package iceberg

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/orderwire/orderwire/sinks/archive"
)

// attempts is how often in a row others may commit before this follower.
const attempts = 20

// Follower keeps one table in step with one archive. It is safe for several
// goroutines, which take turns; several followers of one table may run at a time.
type Follower struct {
	*settings
	source string // address of the archive

	mu     sync.Mutex
	tables tables // nil until the first Follow
	closed func() error
}

// New returns a follower that has not asked the catalog yet. The error is a
// [ConfigError].
func New(cfg Config) (*Follower, error) {
	s, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Follower{settings: s, source: cfg.Archive}, nil
}

// Close lets go of the catalog. The next Follow would open it again.
func (f *Follower) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tables == nil || f.closed == nil {
		return nil
	}
	f.tables = nil
	return f.closed()
}

// Follow takes over all entries of the manifest that the table lacks. The table is
// made when there is a first one. The error is a [TableError] when table and
// manifest contradict each other. After any other it may be called again, and
// finds out by itself what is in.
func (f *Follower) Follow(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.connected(ctx); err != nil {
		return err
	}
	var lost error // the last commit of this call that failed
	var before string
	for range attempts {
		t, err := f.load(ctx)
		if err != nil {
			return errors.Join(lost, err)
		}
		// What failed without a trace in the catalog would fail again. Otherwise
		// another follower was first, or the commit went through and only the
		// answer was lost.
		if lost != nil && locationOf(t) == before && !errors.Is(lost, table.ErrCommitFailed) {
			return lost
		}
		before = locationOf(t)
		done, err := f.advance(ctx, t)
		if done || ctx.Err() != nil {
			return err
		}
		lost = err
	}
	return fmt.Errorf("iceberg: %d commits in a row failed: %w", attempts, lost)
}

func (f *Follower) connected(ctx context.Context) (err error) {
	if f.tables == nil {
		f.tables, f.closed, err = f.connect(ctx, true)
	}
	return err
}

// load returns the table as it is, nil when there is none.
func (f *Follower) load(ctx context.Context) (*table.Table, error) {
	t, err := f.tables.LoadTable(ctx, f.table)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("iceberg: table: %w", err)
	}
	return t, nil
}

func locationOf(t *table.Table) string {
	if t == nil {
		return ""
	}
	return t.MetadataLocation()
}

func isThere(err error) bool {
	return errors.Is(err, catalog.ErrTableAlreadyExists) || errors.Is(err, catalog.ErrNamespaceAlreadyExists)
}

// advance takes over what a table lacks, snapshot by snapshot. It is not done
// when the catalog has refused something, or has not answered: then the table
// has to be loaded anew.
func (f *Follower) advance(ctx context.Context, t *table.Table) (done bool, err error) {
	behind, err := f.behind(ctx, t)
	if err != nil {
		return true, err
	}
	return f.takeOver(ctx, t, behind)
}

func (f *Follower) takeOver(ctx context.Context, t *table.Table, behind []archive.Commit) (done bool, err error) {
	for len(behind) > 0 {
		s, err := nextStep(behind)
		if err != nil {
			return true, err
		}
		sources, err := f.readSources(ctx, s.add)
		if err != nil {
			return true, err
		}
		if t == nil {
			if t, err = f.createTable(ctx, &sources[0]); err != nil {
				return false, err
			}
		}
		if t, err = f.evolve(ctx, t, sources); err != nil {
			return false, err
		}
		if t, err = f.apply(ctx, t, s, sources); err != nil {
			return false, err
		}
		last := s.entries[len(s.entries)-1]
		f.log.Debug("iceberg: snapshot", "first", s.entries[0].Number, "commit", last.Number, "files", len(s.add), "replaced", len(s.remove))
		behind = behind[len(s.entries):]
	}
	if t != nil {
		f.expire(ctx, t)
	}
	return true, nil
}

// behind returns the entries of the manifest that a table lacks.
func (f *Follower) behind(ctx context.Context, t *table.Table) ([]archive.Commit, error) {
	var at position
	if t != nil {
		var err error
		if at, err = positionOf(t); err != nil {
			return nil, err
		}
	}
	from, err := archive.ReadManifestFrom(ctx, f.source, max(at.number, 1))
	if err != nil {
		return nil, err
	}
	return at.behind(f.table, from)
}
