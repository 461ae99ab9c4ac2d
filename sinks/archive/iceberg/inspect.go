package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/orderwire/orderwire/sinks/archive"
)

// Standing is how far a table is.
type Standing struct {
	Table  string // its name in the catalog
	Exists bool
	Commit uint64 // last entry of the manifest that is in, 0 for none
	Behind int    // entries that are not
}

// String says it in a line.
func (s Standing) String() string {
	if !s.Exists {
		return fmt.Sprintf("table %s is not there yet and comes with the first commit", s.Table)
	}
	return fmt.Sprintf("table %s is at commit %d of the archive, %d behind", s.Table, s.Commit, s.Behind)
}

// Inspect looks how far the table is, and changes nothing. The error is that of
// Follow.
func (f *Follower) Inspect(ctx context.Context) (Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := Standing{Table: strings.Join(f.table, ".")}
	if path, isFile := strings.CutPrefix(f.catalog, sqliteScheme); isFile {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return found, nil
		}
	}
	if f.tables == nil {
		open, closed, err := f.connect(ctx, false)
		if err != nil {
			return found, err
		}
		f.tables = open
		defer func() {
			f.tables = nil
			_ = closed() // it was only read
		}()
	}
	if f.tables == nil {
		return found, nil
	}
	t, err := f.load(ctx)
	if err != nil {
		return found, err
	}
	return f.standing(ctx, found, t)
}

func (f *Follower) standing(ctx context.Context, found Standing, t *table.Table) (Standing, error) {
	behind, err := f.behind(ctx, t)
	if err != nil && !errors.Is(err, archive.ErrNoArchive) { // no archive yet
		return found, err
	}
	found.Behind = len(behind)
	if t == nil {
		return found, nil
	}
	at, err := positionOf(t)
	found.Exists, found.Commit = true, at.number
	return found, err
}
