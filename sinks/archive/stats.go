package archive

// Stats are figures of an archive for a live display.
type Stats struct {
	Commits      uint64 // batches that are in the archive for good
	Totals              // what they hold: files, events, bytes of the files
	LastSequence uint64 // of the last event of these, 0 when there is none
	Buffered     int64  // events that wait for their commit to begin
	Repeating    uint64 // last sequence of a batch that is being written again after a crash, 0 for none
	Followed     uint64 // last commit that the Follower is known to have taken over, 0 for none since Open
	Behind       string // why the Follower could not take over more, "" when nothing is wrong
}

// Stats may be called at any time from any goroutine.
func (a *Archive) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Followed, s.Behind = a.following.state()
	return s
}

// report brings the figures up to date.
func (a *Archive) report() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.Buffered, a.stats.Repeating = int64(a.buffer.rows), 0
	if a.repeat != nil {
		a.stats.Repeating = a.repeat.Last
	}
}

// advance makes a commit the last one, and tells the Follower.
func (a *Archive) advance(c Commit) {
	a.following.moved(c.Number)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.head = c
	a.stats.Commits, a.stats.Totals, a.stats.LastSequence = c.Number, c.Totals, c.Last
}
