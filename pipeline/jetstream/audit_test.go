package jetstream_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
)

// outcome is what a writer knows of a batch that it tried to publish.
type outcome int

const (
	unanswered   outcome = iota // stored whole, or not at all
	acknowledged                // stored
	refused                     // not stored, as far as the server that answered knew
)

// attempt is one batch as one writer composed it. Each event of it carries the
// attempt's number as content hash, which the log keeps.
type attempt struct {
	events  int
	outcome outcome
	refusal error
}

// ledger holds what all writers know of their attempts.
type ledger struct {
	mu       sync.Mutex
	attempts []attempt // number 1 first
}

// begin notes an attempt before it is published and returns its number.
func (b *ledger) begin(events int) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempts = append(b.attempts, attempt{events: events})
	return uint64(len(b.attempts))
}

func (b *ledger) settle(number uint64, o outcome, refusal error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempts[number-1].outcome, b.attempts[number-1].refusal = o, refusal
}

// stored is a message of the log.
type stored struct {
	sequence uint64
	id       string
	key      schema.OrderKey
	version  uint64
	attempt  uint64
}

// check holds the log against the ledger: every sequence is there, versions have no
// gap, no event stands twice, an attempt is there in one piece or not at all, and
// what was acknowledged is there. What was refused may be there as well: for a moment
// two servers of a cluster can take themselves for the leader, both get the batch,
// and the one that is none any more refuses what the other stores.
func (b *ledger) check(tb testing.TB, log []stored) {
	tb.Helper()
	versions := make(map[schema.OrderKey]uint64)
	places := make(map[string]uint64)
	var runs []uint64 // attempts in the order of the log
	seen := make(map[uint64]int)
	for i, s := range log {
		if s.sequence != uint64(i+1) {
			tb.Fatalf("message %d of the log has sequence %d", i+1, s.sequence)
		}
		if versions[s.key]++; s.version != versions[s.key] {
			tb.Fatalf("sequence %d: order %s has version %d where %d is due", s.sequence, s.key, s.version, versions[s.key])
		}
		if first := places[s.id]; first != 0 {
			tb.Fatalf("event %s stands at %d and at %d", s.id, first, s.sequence)
		}
		places[s.id] = s.sequence
		if len(runs) == 0 || runs[len(runs)-1] != s.attempt {
			runs = append(runs, s.attempt)
		}
		seen[s.attempt]++
	}
	if len(runs) != len(seen) {
		tb.Fatalf("%d attempts stand in %d pieces", len(seen), len(runs))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, events := range seen {
		if n == 0 || n > uint64(len(b.attempts)) {
			tb.Fatalf("%d events of an attempt %d that nobody made", events, n)
		}
	}
	for i, a := range b.attempts {
		events := seen[uint64(i+1)]
		switch {
		case events != 0 && events != a.events:
			tb.Errorf("attempt %d has %d of its %d events in the log", i+1, events, a.events)
		case events == 0 && a.outcome == acknowledged:
			tb.Errorf("attempt %d of %d events was acknowledged and is not in the log", i+1, a.events)
		case events != 0 && a.outcome == refused:
			tb.Logf("attempt %d of %d events was refused and is in the log: %v", i+1, a.events, a.refusal)
		}
	}
}

// tally counts the attempts by outcome, and the unanswered ones that are in the log.
func (b *ledger) tally(log []stored) string {
	seen := make(map[uint64]bool)
	for _, s := range log {
		seen[s.attempt] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var counts [3]int
	found := 0
	for i, a := range b.attempts {
		counts[a.outcome]++
		if a.outcome == unanswered && seen[uint64(i+1)] {
			found++
		}
	}
	return fmt.Sprintf("%d attempts: %d acknowledged, %d refused, %d unanswered of which %d are in the log",
		len(b.attempts), counts[acknowledged], counts[refused], counts[unanswered], found)
}

// readStored reads the log from its beginning to a sequence.
func readStored(tb testing.TB, l *jetstream.Log, last uint64) []stored {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	in, err := l.Follow(ctx, 0)
	if err != nil {
		tb.Fatal(err)
	}
	log := make([]stored, 0, last)
	for uint64(len(log)) < last {
		msg, open := <-in
		if !open {
			tb.Fatalf("the subscription ended after %d of %d messages", len(log), last)
		}
		msg.Ack()
		e, err := pipeline.ReadEntry(msg)
		if err != nil {
			tb.Fatal(err)
		}
		_, n, ok := pipeline.ParseState(msg.Metadata.Get(pipeline.MetaState))
		if !ok {
			tb.Fatalf("sequence %d: state %q", e.Sequence, msg.Metadata.Get(pipeline.MetaState))
		}
		log = append(log, stored{sequence: e.Sequence, id: e.Event.ID, key: e.Event.Key(), version: e.Event.Data.Version, attempt: n})
	}
	return log
}
