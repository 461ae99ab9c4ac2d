package console

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orderwire/orderwire/sinks/archive"
)

// shelf is what is known of the archive. Its manifest is read once, entry by entry.
type shelf struct {
	reading
	archive Archive

	mu       sync.Mutex // guards what follows
	now      archive.Inventory
	verified *archive.Verified
	note     error // why the note of the verification cannot be read, nil when it can
	parts    []partition
}

// shelfEvery is how often the overview has the archive looked at.
const shelfEvery = time.Minute

// partition is an account's events of a day.
type partition struct {
	account, day string
	first, last  uint64
	archive.Totals
}

func newShelf(a Archive) *shelf {
	s := &shelf{archive: a}
	s.run = s.read
	return s
}

func (s *shelf) read(ctx context.Context) error {
	now, err := s.archive.Inventory(ctx)
	if err != nil {
		return err
	}
	verified, note := s.archive.Verified(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Head.Number != now.Head.Number || s.parts == nil {
		s.parts = partitionsOf(now.Files)
	}
	s.now, s.verified, s.note = now, verified, note
	return nil
}

// shelved is what is known of the archive at a moment.
type shelved struct {
	archive.Inventory
	parts    []partition
	verified *archive.Verified
	note     error
	missing  string // why there is nothing to see, "" when there is
	stale    string // why it is not up to date, "" when it is
}

// look returns what is known.
func (s *shelf) look(ctx context.Context) shelved {
	whole, err := s.refresh(ctx)
	if !whole && err != nil {
		return shelved{missing: "The archive cannot be read: " + err.Error()}
	}
	if !whole {
		return shelved{missing: "The manifest is being read for the first time. Load the page again in a moment."}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := shelved{Inventory: s.now, parts: s.parts, verified: s.verified, note: s.note}
	if err != nil {
		now.stale = "The manifest cannot be read on: " + err.Error()
	}
	return now
}

// faults returns how many findings the last verification had, as far as that is
// known now: nobody waits for it.
func (s *shelf) faults(ctx context.Context) int64 {
	s.reading.mu.Lock()
	due := time.Since(s.ended) > shelfEvery
	s.reading.mu.Unlock()
	if due {
		s.begin(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verified == nil {
		return 0
	}
	return s.verified.Findings
}

// partitionsOf adds the files up, the newest day first.
func partitionsOf(files []archive.File) []partition {
	by := make(map[[2]string]*partition)
	for i := range files {
		f := &files[i]
		account, day := placed(f)
		p := by[[2]string{account, day}]
		if p == nil {
			p = &partition{account: account, day: day, first: f.First, last: f.Last}
			by[[2]string{account, day}] = p
		}
		p.first, p.last = min(p.first, f.First), max(p.last, f.Last)
		p.Files, p.Rows, p.Bytes = p.Files+1, p.Rows+f.Rows, p.Bytes+f.Bytes
	}
	all := make([]partition, 0, len(by))
	for p := range maps.Values(by) {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b partition) int {
		if a.day != b.day {
			return strings.Compare(b.day, a.day)
		}
		return strings.Compare(a.account, b.account)
	})
	return all
}

// placed returns the account and the day of a file's events, "" for no partition.
func placed(f *archive.File) (account, day string) {
	account, date, ok := f.Partition()
	if !ok {
		return "", ""
	}
	return account, date.Format("2006-01-02")
}
