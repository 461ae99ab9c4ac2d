package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
)

// spot is a row that has been read and not been compared yet.
type spot struct {
	sequence uint64
	id       [16]byte
}

// shortID makes 16 bytes of an event's id, which is 16 bytes in hexadecimal digits.
func shortID(id string) (short [16]byte) {
	if len(id) == hex.EncodedLen(len(short)) {
		if _, err := hex.Decode(short[:], []byte(id)); err == nil {
			return short
		}
	}
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// checkRows proves the files, by ascending sequences, beside the log.
func (v *verifier) checkRows(ctx context.Context, log EventLog) error {
	s := &sweep{found: v.found, batches: batchesOf(v.entries)}
	if log != nil && v.found.Last > 0 {
		s.log = openLog(ctx, log, v.found.Last)
		defer s.log.stop()
	}
	for _, f := range slices.SortedFunc(maps.Values(v.history.live), compareFiles) {
		s.upTo(f.First - 1) // no later file has a row below
		if err := v.sweepFile(ctx, s, &f); err != nil {
			return err
		}
		v.advance(f.Rows)
	}
	s.upTo(math.MaxUint64)
	s.finish()
	if s.log != nil && s.log.err != nil && ctx.Err() == nil {
		v.found.add(BadLog, "", fmt.Sprintf("the log could not be compared to its end: %v", s.log.err),
			"see to the log and verify again")
	}
	return ctx.Err()
}

// sweepFile proves a file and adds its rows to the sweep.
func (v *verifier) sweepFile(ctx context.Context, s *sweep, f *File) error {
	taken := int64(0)
	err := v.checkFile(ctx, f, func(r *Row) {
		if taken++; taken <= f.Rows { // more is a finding already
			s.spots = append(s.spots, spot{uint64(r.Sequence), shortID(r.EventID)})
		}
	})
	slices.SortFunc(s.spots, func(a, b spot) int { return cmp.Compare(a.sequence, b.sequence) })
	return err
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
