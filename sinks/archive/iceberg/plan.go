package iceberg

import (
	"fmt"
	"slices"

	"github.com/orderwire/orderwire/sinks/archive"
)

// filesAtOnce is how many files a snapshot of several entries takes over, as far
// as entries allow.
const filesAtOnce = 500

// step is what one snapshot takes over.
type step struct {
	entries []archive.Commit
	add     []archive.File
	remove  []string // paths of files that the table has
}

// nextStep returns what to take over first. A file that is replaced before the
// table has heard of it is there no more: it never comes in, and the entries from
// its own to the one that replaces it become one snapshot.
func nextStep(behind []archive.Commit) (*step, error) {
	replacedBy := make(map[string]int)
	for i, c := range behind {
		for _, path := range c.Replaces {
			replacedBy[path] = i
		}
	}
	end := 1 // of the entries that have to go together
	s, never := &step{}, make(map[string]bool)
	for i := 0; i < end; i++ {
		for _, f := range behind[i].Files {
			if by, replaced := replacedBy[f.Path]; replaced && by > i {
				end, never[f.Path] = max(end, by+1), true
				continue
			}
			s.add = append(s.add, f)
		}
		if i+1 == end && end < len(behind) && len(s.add)+len(behind[end].Files) <= filesAtOnce {
			end++
		}
	}
	s.entries = behind[:end]
	for _, c := range s.entries {
		s.remove = append(s.remove, slices.DeleteFunc(slices.Clone(c.Replaces), func(path string) bool { return never[path] })...)
	}
	if len(s.add)+len(s.remove) == 0 {
		return nil, fmt.Errorf("iceberg: commits %d to %d of the archive change no file", s.entries[0].Number, s.entries[len(s.entries)-1].Number)
	}
	return s, nil
}

// compacts reports whether the step leaves all rows as they are.
func (s *step) compacts() bool {
	return len(s.remove) > 0 && !slices.ContainsFunc(s.entries, func(c archive.Commit) bool { return c.Replaces == nil })
}
