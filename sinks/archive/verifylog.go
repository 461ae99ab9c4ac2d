package archive

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
)

// spot is a row of the batch that is being proved.
type spot struct {
	sequence uint64
	id       string
}

// checkRows proves the files, commit by commit, beside the log.
func (v *verifier) checkRows(ctx context.Context, log EventLog) error {
	var beside *logReader
	if log != nil && v.found.Last > 0 {
		beside = openLog(ctx, log, v.found.Last)
		defer beside.stop()
	}
	for i := range v.entries {
		c := &v.entries[i]
		places, err := v.checkCommit(ctx, c)
		if err != nil {
			return err
		}
		v.checkDoubled(c, places)
		if beside != nil {
			v.compare(c, places, beside)
		}
	}
	if beside == nil || beside.err == nil {
		return ctx.Err()
	}
	if ctx.Err() == nil {
		v.found.add(BadLog, "", fmt.Sprintf("the log could not be compared to its end: %v", beside.err),
			"see to the log and verify again")
	}
	return ctx.Err()
}

// checkCommit proves the files of a commit and returns their rows by sequence.
func (v *verifier) checkCommit(ctx context.Context, c *Commit) ([]spot, error) {
	var places []spot
	for i := range c.Files {
		f := &c.Files[i]
		taken := int64(0)
		err := v.checkFile(ctx, c, f, func(r *Row) {
			if taken++; taken <= f.Rows { // more is a finding already
				places = append(places, spot{uint64(r.Sequence), r.EventID})
			}
		})
		if err != nil {
			return nil, err
		}
		v.advance(f.Rows)
	}
	slices.SortFunc(places, func(a, b spot) int { return cmp.Compare(a.sequence, b.sequence) })
	return places, nil
}

// checkDoubled looks for sequences that stand in several rows. Those of
// different commits have different ranges.
func (v *verifier) checkDoubled(c *Commit, places []spot) {
	var doubled int
	var first uint64
	for i := 1; i < len(places); i++ {
		if places[i].sequence == places[i-1].sequence {
			if doubled++; doubled == 1 {
				first = places[i].sequence
			}
		}
	}
	if doubled > 0 {
		v.found.add(DoubledEvents, manifestName(c.Number), fmt.Sprintf("has %d rows too many: sequence %d is the first that stands in several",
			doubled, first), "restore the files of this commit from a copy")
	}
}

// span is a number of sequences with the first and the last of them.
type span struct{ count, first, last uint64 }

func (s *span) add(sequence uint64) {
	if s.count == 0 {
		s.first = sequence
	}
	s.count++
	s.last = sequence
}

// compare holds the rows of a commit against the log up to the commit's end.
func (v *verifier) compare(c *Commit, places []spot, log *logReader) {
	var missing, other span
	for log.valid && log.event.Sequence <= c.Last {
		e := log.event
		for len(places) > 0 && places[0].sequence < e.Sequence {
			places = places[1:]
			v.found.Gone++
		}
		held := len(places) > 0 && places[0].sequence == e.Sequence
		switch {
		case e.ID == "":
			v.found.Unreadable++
		case !held:
			missing.add(e.Sequence)
		case places[0].id != e.ID:
			other.add(e.Sequence)
		default:
			v.found.Compared++
		}
		if held {
			places = places[1:]
		}
		log.next()
	}
	if log.err == nil {
		v.found.Gone += int64(len(places))
	}
	if missing.count > 0 {
		v.found.add(MissingEvents, manifestName(c.Number), fmt.Sprintf("%d events of the log, from sequence %d to %d, stand in no row that could be read",
			missing.count, missing.first, missing.last), "the log still holds them: see to the files of this commit, or let a new archive be filled")
	}
	if other.count > 0 {
		v.found.add(OtherEvents, manifestName(c.Number), fmt.Sprintf("%d sequences, from %d to %d, are other events in the log",
			other.count, other.first, other.last), "is this the log that the archive was filled from? If so, restore the files from a copy")
	}
}

// logReader is the log, one event ahead.
type logReader struct {
	pull  func() (LogEvent, error, bool)
	stop  func()
	event LogEvent
	valid bool // event is one
	err   error
}

func openLog(ctx context.Context, log EventLog, last uint64) *logReader {
	r := &logReader{}
	r.pull, r.stop = iter.Pull2(log.Events(ctx, last))
	r.next()
	return r
}

func (r *logReader) next() {
	r.event, r.err, r.valid = r.pull()
	r.valid = r.valid && r.err == nil
}
