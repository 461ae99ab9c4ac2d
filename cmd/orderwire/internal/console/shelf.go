package console

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/orderwire/orderwire/sinks/archive"
)

// shelf is what is known of the archive. Its manifest is read once, entry by entry.
type shelf struct {
	reading
	archive Archive

	mu       sync.Mutex // guards what follows
	now      archive.Inventory
	verified *archive.Verified
	parts    []partition
}

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
	verified, err := s.archive.Verified(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Head.Number != now.Head.Number || s.parts == nil {
		s.parts = partitionsOf(now.Files)
	}
	s.now, s.verified = now, verified
	return err
}

// look returns what is known; whole is false while the manifest is being read for
// the first time.
func (s *shelf) look(ctx context.Context) (now archive.Inventory, parts []partition, verified *archive.Verified, whole bool, err error) {
	whole, err = s.refresh(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.parts, s.verified, whole, err
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
