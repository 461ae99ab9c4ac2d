package archive

// Stats are figures of an archive for a live display.
type Stats struct {
	Commits      uint64 // batches that are in the archive for good
	Totals              // what they hold: files, events, bytes of the files
	LastSequence uint64 // of the last event of these, 0 when there is none
	Buffered     int64  // events that wait for the next commit
	Repeating    uint64 // last sequence of a batch that is being written again after a crash, 0 for none
}

// Stats may be called at any time from any goroutine.
func (a *Archive) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stats
}

// report brings the figures up to date.
func (a *Archive) report() {
	s := Stats{
		Commits: a.head.Number, Totals: a.head.Totals, LastSequence: a.head.Last, Buffered: int64(a.buffer.rows),
	}
	if a.repeat != nil {
		s.Repeating = a.repeat.Last
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats = s
}
