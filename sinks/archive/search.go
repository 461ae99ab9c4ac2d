package archive

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/orderwire/orderwire/schema"
)

// Search finds single events of an archive, beside an archiver and compactions at
// work. It keeps what the manifest says of the files in memory, and reads of a
// file what the file's filters and indexes leave over. All methods may be called
// from several goroutines. Create it with [OpenSearch].
type Search struct {
	store store

	mu      sync.Mutex // guards what follows
	history *history
	live    []File   // of history, by their sequences
	covered []Commit // First and Last of batches, those next to each other as one

	compactions uint64 // entries of history that are some
}

// OpenSearch opens the archive at a place. The error is one of [ReadManifest].
// What it reads on a disk or in a bucket is read when it is asked for.
func OpenSearch(ctx context.Context, dir string) (*Search, error) {
	s, err := archiveAt(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Search{store: s, history: newHistory()}, nil
}

// Close lets go of the place.
func (s *Search) Close() error { return s.store.Close() }

// Missing returns the first sequences of a range, both ends included, that no batch
// covers, as the function of that name does; from is 0 when all are covered.
func (s *Search) Missing(ctx context.Context, from, until uint64) (first, last uint64, err error) {
	if _, err := s.files(ctx, until); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first, last = Missing(s.covered, from, until)
	return first, last, nil
}

// Next returns the first event of an order in a range of sequences, both ends
// included; false when there is none. The entry is one of [Events], with the same
// bytes. The error is one of [Rows].
func (s *Search) Next(ctx context.Context, key schema.OrderKey, from, until uint64) (schema.Entry, bool, error) {
	for {
		live, err := s.files(ctx, until)
		if err != nil {
			return schema.Entry{}, false, err
		}
		row, err := s.next(ctx, live, key, from, until)
		if errors.Is(err, ErrReplaced) {
			if err = s.advance(ctx); err == nil {
				continue
			}
		}
		if err != nil || row == nil {
			return schema.Entry{}, false, err
		}
		found, err := newReplayed(row, zones{})
		if err != nil {
			return schema.Entry{}, false, &ManifestError{Path: s.store.path("."), Problem: "holds a row that no archiver has written", Cause: err}
		}
		e, err := found.entry()
		return e, err == nil, err
	}
}

// next goes over the files that can hold the order, up to where no later one can
// hold an earlier event.
func (s *Search) next(ctx context.Context, live []File, key schema.OrderKey, from, until uint64) (first *Row, err error) {
	wanted := newPick(columnOrder, key.OrderSn)
	for i := range live {
		f := &live[i]
		if f.First > until {
			break
		}
		if f.Last < from || accountOf(f.Path) != key.Account {
			continue
		}
		for row, err := range pickedRows(ctx, s.store, f, wanted) {
			if err != nil {
				return nil, err
			}
			sequence := uint64(row.Sequence)
			if sequence >= from && sequence <= until && row.OrderSn == key.OrderSn && orEmpty(row.ProgramID) == key.Program {
				first, until = &row, sequence
			}
		}
	}
	return first, nil
}

// files returns those of the archive. The manifest is read on when it is known up
// to before a sequence only.
func (s *Search) files(ctx context.Context, until uint64) ([]File, error) {
	s.mu.Lock()
	known := s.history.head.Number > 0 && s.history.head.Last >= until
	s.mu.Unlock()
	if !known {
		if err := s.advance(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, nil
}

// advance reads what has come into the manifest.
func (s *Search) advance(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	more, err := readEntries(ctx, s.store, s.history.head.Number+1)
	if err != nil {
		return err
	}
	for i := range more {
		c := &more[i]
		if err := s.history.add(c); err != nil {
			return &ManifestError{Path: s.store.path(manifestName(c.Number)), Problem: err.Error()}
		}
		if c.IsCompaction() {
			s.compactions++
		} else {
			s.cover(c)
		}
	}
	if len(more) > 0 {
		s.live = slices.SortedFunc(maps.Values(s.history.live), compareFiles)
	}
	return nil
}

func (s *Search) cover(c *Commit) {
	if n := len(s.covered); n > 0 && s.covered[n-1].Last+1 >= c.First {
		s.covered[n-1].Last = c.Last
		return
	}
	s.covered = append(s.covered, Commit{First: c.First, Last: c.Last})
}
