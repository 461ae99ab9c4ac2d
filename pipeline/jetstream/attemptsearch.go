package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// AttemptQuery says which attempts to find. Every field that is set has to hold.
type AttemptQuery struct {
	Endpoint                string // its name
	Account, Program, Order string // of the order
	EventID                 string
	Outcome                 pipeline.Outcome
	Since, Before           time.Time // when the attempt began: at Since or later, and before Before
	Limit                   int       // the most to return; 0 means 100
}

const (
	attemptsLimit = 100
	// firstBlock and mostBlock are the numbers of sequences that a search reads at
	// a time: more and more while it finds little there.
	firstBlock, mostBlock = 64, 1 << 16
	// fullBlock is the size of a block that is large enough, in bytes.
	fullBlock = 1 << 20
	// attemptsLate bounds how long after its begin an attempt is stored.
	attemptsLate = 2 * time.Hour
)

// SearchAttempts returns the newest attempts that the query describes, the newest
// first. A log that holds none, because nothing was recorded yet, is no error.
func (l *Log) SearchAttempts(ctx context.Context, q AttemptQuery) ([]pipeline.Attempt, error) {
	found, err := l.searchAttempts(ctx, q, attemptsLate)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", AttemptStreamName, err)
	}
	return found, nil
}

// searchAttempts passes over what was stored later than that after the last moment
// of the query.
func (l *Log) searchAttempts(ctx context.Context, q AttemptQuery, late time.Duration) ([]pipeline.Attempt, error) {
	s, err := l.js.Stream(ctx, AttemptStreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state := s.CachedInfo().State
	last := state.LastSeq
	if at := q.Before.Add(late); !q.Before.IsZero() && at.Before(state.LastTime) {
		behind, err := l.chunks(ctx, chunkRange{at: at, most: 1, subject: attemptSubjects + ".>"})
		if err != nil {
			return nil, err
		}
		if len(behind.chunks) > 0 {
			last = behind.chunks[0].seq
		}
	}
	h := newHunt(q)
	for size := uint64(firstBlock); last >= max(state.FirstSeq, 1) && state.Msgs > 0; {
		first := max(last-min(size, last)+1, state.FirstSeq)
		read, err := l.huntBlock(ctx, h, first, last)
		if err != nil {
			return nil, err
		}
		if h.done {
			break
		}
		if last = first - 1; read < fullBlock {
			size = min(2*size, mostBlock)
		}
	}
	h.sort()
	return h.found, nil
}

// huntBlock searches the chunks between two sequences, both included, and returns
// how many bytes it has read.
func (l *Log) huntBlock(ctx context.Context, h *hunt, first, last uint64) (read int, err error) {
	var all []storedChunk
	for from := first; from <= last; {
		got, err := l.chunks(ctx, chunkRange{from: from, last: last, most: chunksAtATime, subject: h.subject, keep: h.mayHold})
		if err != nil {
			return read, err
		}
		all, read = append(all, got.chunks...), read+got.bytes
		if got.next == 0 {
			break
		}
		from = got.next
	}
	for _, c := range slices.Backward(all) {
		if h.take(c); h.done {
			break
		}
	}
	return read, nil
}

// hunt is a search under way, from the newest chunk backwards.
type hunt struct {
	AttemptQuery
	subject string   // of the chunks that may hold something
	parts   [][]byte // that stand in every line that is searched for
	found   []pipeline.Attempt
	done    bool // what is not read yet cannot be among the newest
}

func newHunt(q AttemptQuery) *hunt {
	h := &hunt{AttemptQuery: q, subject: chunkKey{q.Endpoint, q.Outcome}.subject()}
	if h.Limit <= 0 {
		h.Limit = attemptsLimit
	}
	if q.Account != "" {
		h.parts = append(h.parts, []byte(`"order":"`+schema.EscapeToken(q.Account)+"."))
	}
	if q.Program != "" {
		h.parts = append(h.parts, []byte("."+schema.EscapeToken(q.Program)+"."))
	}
	if q.Order != "" {
		h.parts = append(h.parts, []byte("."+schema.EscapeToken(q.Order)+`"`))
	}
	if q.EventID != "" {
		h.parts = append(h.parts, appendText([]byte(`"event":`), q.EventID))
	}
	return h
}

// mayHold reports whether a chunk, or a line, may hold what is searched for. It is
// much cheaper than reading it.
func (h *hunt) mayHold(data []byte) bool {
	for _, part := range h.parts {
		if !bytes.Contains(data, part) {
			return false
		}
	}
	return true
}

// take looks through a chunk. All others that come are older: what they hold began
// before this one was stored.
func (h *hunt) take(c storedChunk) {
	for line := range bytes.Lines(c.data) {
		if !h.mayHold(line) {
			continue
		}
		if a, err := readAttempt(c.key, line); err == nil && h.wanted(&a) { // what is no attempt is not ours
			h.found = append(h.found, a)
		}
	}
	if h.done = c.stored.Before(h.Since); !h.done && len(h.found) >= h.Limit {
		h.sort()
		h.done = !h.found[h.Limit-1].At.Before(c.stored)
	}
}

// sort keeps the newest ones, the newest first.
func (h *hunt) sort() {
	slices.SortStableFunc(h.found, func(a, b pipeline.Attempt) int { return b.At.Compare(a.At) })
	h.found = h.found[:min(len(h.found), h.Limit)]
}

func (h *hunt) wanted(a *pipeline.Attempt) bool {
	return (h.Account == "" || a.Key.Account == h.Account) && (h.Program == "" || a.Key.Program == h.Program) &&
		(h.Order == "" || a.Key.OrderSn == h.Order) && (h.EventID == "" || a.EventID == h.EventID) &&
		(h.Since.IsZero() || !a.At.Before(h.Since)) && (h.Before.IsZero() || a.At.Before(h.Before))
}
