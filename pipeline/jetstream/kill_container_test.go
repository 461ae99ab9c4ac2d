package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/pipeline/pipelinetest"
	"github.com/orderwire/orderwire/schema"
)

const (
	killRounds  = 3
	killGroups  = 12 // the writer goes round them, version by version
	killBatch   = 80 // orders in a group: one batch, the same orders every time
	killBetween = 25 // batches acknowledged between two kills
)

// The server is killed while one writer publishes without a pause. Everything
// acknowledged is in the log afterwards, once; versions have no gap; a batch
// without an answer is there whole or not at all, and is found when its repetition
// is refused. The follower sees all of it without help.
func TestContainerKilledWhilePublishing(t *testing.T) {
	t.Parallel()
	url, server := pipelinetest.ContainerNATS(t)
	limited, cancel := context.WithTimeout(t.Context(), 80*time.Second)
	defer cancel()
	ctx, stop := context.WithCancelCause(limited)
	defer stop(nil)
	f := follow(ctx, t, pipelinetest.Log(t, url))
	w := &writer{log: openLog(t, jetstream.Config{URL: url, Timeout: 2 * time.Second}), batches: make(map[batchID]*batch)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.run(ctx); err != nil {
			stop(err) // nothing more is to be waited for
		}
	}()

	for range killRounds {
		w.acked.await(ctx, t, w.acked.now()+killBetween)
		pipelinetest.KillContainer(t, server)
		pipelinetest.ReviveNATS(t, server)
	}
	w.acked.await(ctx, t, w.acked.now()+killBetween)
	w.giveUp.Store(true) // on the first batch without an answer
	pipelinetest.KillContainer(t, server)
	pipelinetest.ReviveNATS(t, server)
	<-ended
	if ctx.Err() != nil {
		t.Fatal(context.Cause(ctx))
	}

	l := pipelinetest.Log(t, url)
	last, err := l.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries := read(t, l, 0, int(last))
	w.check(t, entries)
	f.last.await(ctx, t, last)
	if got := f.ids(); !slices.Equal(got, ids(entries)) {
		t.Errorf("the follower saw %d events, not the %d of the log one by one", len(got), last)
	}
	t.Logf("%d events; of %d batches without an answer %d were found in the log", last, w.unanswered, w.found)
}

// progress is a number that grows, and that a test can wait for.
type progress struct {
	mu   sync.Mutex
	n    uint64
	more chan struct{} // closed when n grows; nil while nobody waits
}

func (p *progress) set(n uint64) { p.change(func(uint64) uint64 { return n }) }

func (p *progress) change(to func(uint64) uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n = to(p.n)
	if p.more != nil {
		close(p.more)
		p.more = nil
	}
}

func (p *progress) add(n uint64) { p.change(func(now uint64) uint64 { return now + n }) }

func (p *progress) now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// await waits until the number is at least n.
func (p *progress) await(ctx context.Context, tb testing.TB, n uint64) {
	tb.Helper()
	for {
		p.mu.Lock()
		now := p.n
		if p.more == nil {
			p.more = make(chan struct{})
		}
		more := p.more
		p.mu.Unlock()
		if now >= n {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			tb.Fatalf("still at %d, waiting for %d: %v", now, n, context.Cause(ctx))
		}
	}
}

// batchID says which group of orders a batch brings to which version.
type batchID struct {
	group   int
	version uint64
}

func (id batchID) String() string {
	return fmt.Sprintf("group %d version %d", id.group, id.version)
}

func (id batchID) orders() (from, to int) { return id.group * killBatch, (id.group + 1) * killBatch }

// batch is what the writer knows of one.
type batch struct {
	msgs   []*message.Message
	stored bool // acknowledged, or found in the log
}

// writer brings all orders from version to version, a batch at a time. Its fields
// without a lock belong to run until that has returned.
type writer struct {
	log    *jetstream.Log
	acked  progress    // batches
	giveUp atomic.Bool // return at the first batch without an answer

	batches           map[batchID]*batch
	unanswered, found int
}

// errGivenUp ends the writer.
var errGivenUp = errors.New("given up")

func (w *writer) run(ctx context.Context) error {
	for version := uint64(1); ; version++ {
		for group := range killGroups {
			err := w.publish(ctx, batchID{group, version})
			if errors.Is(err, errGivenUp) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// publish repeats a batch until the log has it.
func (w *writer) publish(ctx context.Context, id batchID) error {
	b, err := w.compose(id)
	if err != nil {
		return err
	}
	w.batches[id] = b
	for tries := 1; ; tries++ {
		err := w.log.Publisher().Publish(pipeline.Topic, b.msgs...)
		switch {
		case err == nil:
			b.stored = true
			w.acked.set(w.acked.now() + 1)
			return nil
		case errors.Is(err, pipeline.ErrStored) && tries == 1:
			return fmt.Errorf("%s was there before it was sent: %w", id, err)
		case errors.Is(err, pipeline.ErrStored):
			b.stored = true
			w.found++
			return w.find(ctx, id)
		case errors.As(err, new(*pipeline.StaleError)):
			return fmt.Errorf("%s was refused though nobody else writes: %w", id, err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		w.unanswered++
		if w.giveUp.Load() {
			return errGivenUp
		}
	}
}

func (w *writer) compose(id batchID) (*batch, error) {
	b := &batch{}
	from, to := id.orders()
	for n := from; n < to; n++ {
		known, _ := w.log.Known(key(n))
		e := pipelinetest.Event("main", n, id.version)
		msg, err := pipeline.NewMessage(&e, known.Sequence, 0)
		if err != nil {
			return nil, err
		}
		b.msgs = append(b.msgs, msg)
	}
	return b, nil
}

// find makes sure that a batch that was said to be in the log is there.
func (w *writer) find(ctx context.Context, id batchID) error {
	from, to := id.orders()
	for n := from; n < to; n++ {
		state, err := w.log.Load(ctx, key(n))
		for err != nil && ctx.Err() == nil { // the server may be gone once more
			state, err = w.log.Load(ctx, key(n))
		}
		if err != nil {
			return err
		}
		if state.Event == nil || state.Event.Data.Version != id.version {
			return fmt.Errorf("%s was refused as outdated, but order %d of it is not there (sequence %d)", id, n, state.Sequence)
		}
	}
	return nil
}

// check holds the log against what the writer was told.
func (w *writer) check(tb testing.TB, entries []schema.Entry) {
	tb.Helper()
	versions := make(map[schema.OrderKey]uint64)
	sequences := make(map[string]uint64)
	for i, e := range entries {
		if e.Sequence != uint64(i+1) {
			tb.Fatalf("entry %d has sequence %d", i, e.Sequence)
		}
		k := e.Event.Key()
		if versions[k]++; e.Event.Data.Version != versions[k] {
			tb.Fatalf("order %s: version %d where %d is due", k, e.Event.Data.Version, versions[k])
		}
		if before := sequences[e.Event.ID]; before != 0 {
			tb.Fatalf("event %s stands at %d and at %d", e.Event.ID, before, e.Sequence)
		}
		sequences[e.Event.ID] = e.Sequence
	}
	for id, b := range w.batches {
		first := sequences[b.msgs[0].UUID]
		if first == 0 && b.stored {
			tb.Fatalf("%s was acknowledged and is not in the log", id)
		}
		for i, m := range b.msgs {
			want := uint64(0)
			if first > 0 {
				want = first + uint64(i)
			}
			if got := sequences[m.UUID]; got != want {
				tb.Fatalf("%s is not in one piece: message %d at %d, want %d", id, i, got, want)
			}
			delete(sequences, m.UUID)
		}
	}
	if len(sequences) > 0 {
		tb.Fatalf("%d events that nobody published", len(sequences))
	}
}

// follower reads the log from its beginning on, with one subscription.
type follower struct {
	last progress // sequence

	mu   sync.Mutex
	seen []string
}

func follow(ctx context.Context, tb testing.TB, l *jetstream.Log) *follower {
	tb.Helper()
	in, err := l.Follow(ctx, 0)
	if err != nil {
		tb.Fatal(err)
	}
	f := &follower{}
	go func() {
		for msg := range in {
			msg.Ack()
			e, err := pipeline.ReadEntry(msg)
			if err != nil {
				return // the test will miss the rest
			}
			f.mu.Lock()
			f.seen = append(f.seen, e.Event.ID)
			f.mu.Unlock()
			f.last.set(e.Sequence)
		}
	}()
	return f
}

func (f *follower) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func ids(entries []schema.Entry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Event.ID
	}
	return all
}
