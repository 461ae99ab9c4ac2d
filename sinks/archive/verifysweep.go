package archive

import (
	"fmt"
	"slices"
)

// sweep goes through rows and log by ascending sequences. What it finds it tells
// for each batch, as that is what the sequences were committed in.
type sweep struct {
	found   *Verification
	log     *logReader // nil when there is none to compare with
	spots   []spot     // rows to be compared, ascending
	batches []*Commit  // those that end at or behind the sequence reached
	at      differences
}

// batchesOf returns the entries that are no compactions.
func batchesOf(entries []Commit) []*Commit {
	var all []*Commit
	for i := range entries {
		if !entries[i].IsCompaction() {
			all = append(all, &entries[i])
		}
	}
	return all
}

// differences are those of one batch.
type differences struct{ doubled, missing, other span }

// span is a number of sequences with the first and the last of them.
type span struct{ count, first, last uint64 }

func (s *span) add(sequence uint64) {
	if s.count == 0 {
		s.first = sequence
	}
	s.count++
	s.last = sequence
}

// upTo compares everything up to a sequence. No row below it may come later.
func (s *sweep) upTo(limit uint64) {
	for {
		sequence, any := s.next()
		if !any || sequence > limit {
			return
		}
		s.reach(sequence)
		s.compare(sequence)
	}
}

// next returns the least sequence of rows and log.
func (s *sweep) next() (sequence uint64, any bool) {
	if len(s.spots) > 0 {
		sequence, any = s.spots[0].sequence, true
	}
	if s.log != nil && s.log.valid && (!any || s.log.event.Sequence < sequence) {
		sequence, any = s.log.event.Sequence, true
	}
	return sequence, any
}

// compare holds the rows of a sequence against the log.
func (s *sweep) compare(sequence uint64) {
	rows := 0
	for rows < len(s.spots) && s.spots[rows].sequence == sequence {
		rows++
	}
	held := s.spots[:rows]
	s.spots = s.spots[rows:]
	for range rows - 1 {
		s.at.doubled.add(sequence)
	}
	if s.log == nil || s.log.err != nil {
		return
	}
	if !s.log.valid || s.log.event.Sequence != sequence {
		s.found.Gone += int64(rows)
		return
	}
	id := s.log.event.ID
	switch {
	case id == "":
		s.found.Unreadable++
	case rows == 0:
		s.at.missing.add(sequence)
	case !slices.ContainsFunc(held, func(h spot) bool { return h.id == shortID(id) }):
		s.at.other.add(sequence)
	default:
		s.found.Compared++
	}
	s.log.next()
}

// reach tells the differences of batches that end before a sequence.
func (s *sweep) reach(sequence uint64) {
	for len(s.batches) > 0 && s.batches[0].Last < sequence {
		s.tell()
		s.batches = s.batches[1:]
	}
}

// finish tells the differences of the last batch.
func (s *sweep) finish() {
	if len(s.batches) > 0 {
		s.tell()
	}
}

// tell adds the differences of the first batch to the findings.
func (s *sweep) tell() {
	name, d := manifestName(s.batches[0].Number), s.at
	s.at = differences{}
	if n := d.doubled; n.count > 0 {
		s.found.add(DoubledEvents, name, fmt.Sprintf("has %d rows too many: sequence %d is the first that stands in several",
			n.count, n.first), "restore the files of this commit from a copy")
	}
	if n := d.missing; n.count > 0 {
		s.found.add(MissingEvents, name, fmt.Sprintf("%d events of the log, from sequence %d to %d, stand in no row that could be read",
			n.count, n.first, n.last), "the log still holds them: see to the files of this commit, or let a new archive be filled")
	}
	if n := d.other; n.count > 0 {
		s.found.add(OtherEvents, name, fmt.Sprintf("%d sequences, from %d to %d, are other events in the log",
			n.count, n.first, n.last), "is this the log that the archive was filled from? If so, restore the files from a copy")
	}
}
