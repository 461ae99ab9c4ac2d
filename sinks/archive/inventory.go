package archive

import "context"

// Inventory is what the manifest of an archive says at a moment.
type Inventory struct {
	// Head is the last entry, the zero Commit when there is none.
	Head Commit
	// Compactions is how many of the entries are some.
	Compactions uint64
	// Files hold the archive's events, each event in exactly one of them. They
	// ascend by First. Not to be changed.
	Files []File
}

// Inventory reads what has come into the manifest since it was read last. The
// error is one of [ReadManifest].
func (s *Search) Inventory(ctx context.Context) (Inventory, error) {
	if err := s.advance(ctx); err != nil {
		return Inventory{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Inventory{s.history.head, s.compactions, s.live}, nil
}
