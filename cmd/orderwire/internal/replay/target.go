package replay

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// Entries are those of a range, in the order of the log.
type Entries = iter.Seq2[schema.Entry, error]

// Counted passes on the entries that are wanted, counts them into a report, and
// holds a rate; wants nil is for all, perSecond 0 for no bound.
func Counted(ctx context.Context, entries Entries, r *Report, wants func(*schema.Event) bool, perSecond float64) Entries {
	limit := rate.NewLimiter(rate.Inf, 1)
	if perSecond > 0 {
		limit.SetLimit(rate.Limit(perSecond))
	}
	return func(yield func(schema.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && wants != nil && !wants(&e.Event) {
				continue
			}
			if err == nil {
				err = limit.Wait(ctx)
			}
			if err == nil {
				r.count(&e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// DryRun reads everything and sends nothing.
func DryRun(entries Entries) error {
	for _, err := range entries {
		if err != nil {
			return err
		}
	}
	return nil
}

// Endpoint is one that gets events again.
type Endpoint struct {
	Name        string
	Deliverer   pipeline.Deliverer
	Concurrency int
	RateLimit   float64         // attempts in a second, 0 for no bound
	Schedule    []time.Duration // of retries; the replay ends when it is used up
	Logger      *slog.Logger
}

// longestPause is the longest between two attempts of a replay, for which
// somebody waits.
const longestPause = time.Minute

// Schedule returns the pauses of a replay: those of the endpoint up to a minute,
// or, when it has none, some over two minutes.
func Schedule(endpoint []time.Duration) []time.Duration {
	var some []time.Duration
	for _, pause := range endpoint {
		if pause <= longestPause {
			some = append(some, pause)
		}
	}
	if len(some) == 0 {
		return []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, longestPause}
	}
	return some
}

// Deliver sends entries to the endpoint, beside its live deliveries, whose cursor
// it leaves alone. Report.Next says where to go on after an error.
func (e *Endpoint) Deliver(ctx context.Context, entries Entries, r *Report) error {
	again := pipeline.NewReplay(pipeline.ReplayConfig{
		Name: e.Name, Deliverer: e.Deliverer, Concurrency: e.Concurrency, RateLimit: e.RateLimit, Schedule: e.Schedule, Logger: e.Logger, From: r.From,
	})
	err := again.Run(ctx, entries)
	if err != nil {
		r.Next = again.Progress().Position + 1
	}
	return err
}

// Books are the commission books, open for writing.
type Books interface {
	// Position returns the last sequence that is booked.
	Position(ctx context.Context) (uint64, error)
	// Write books a batch and moves the position behind it, or does neither.
	Write(ctx context.Context, batch []schema.Entry) error
}

// bookBatch is the number of entries in one transaction.
const bookBatch = 1000

// Book writes entries into the books. Those that the books have already change
// nothing. Report.Next says where to go on after an error.
func Book(ctx context.Context, books Books, entries Entries, r *Report, log *slog.Logger) error {
	position, err := books.Position(ctx)
	if err != nil {
		return err
	}
	b := &booking{books: books, report: r, log: log, known: position, batch: make([]schema.Entry, 0, bookBatch)}
	if err := b.all(ctx, entries); err != nil {
		r.Next = b.next(r.From)
		return err
	}
	return nil
}

// booking is the state of one Book.
type booking struct {
	books  Books
	report *Report
	log    *slog.Logger
	known  uint64 // position at the beginning
	last   uint64 // sequence of the last entry written, 0 for none
	batch  []schema.Entry
}

func (b *booking) next(from uint64) uint64 { return max(b.last+1, from) }

func (b *booking) all(ctx context.Context, entries Entries) error {
	for e, err := range entries {
		if err != nil {
			return errors.Join(err, b.write(context.WithoutCancel(ctx)))
		}
		if e.Sequence <= b.known {
			b.report.Known++
		}
		if b.batch = append(b.batch, e); len(b.batch) == bookBatch {
			if err := b.write(ctx); err != nil {
				return err
			}
		}
	}
	return b.write(ctx)
}

// write books what is gathered. An entry that the books can never take is passed
// over; a runner has put it into the dead letters, or will.
func (b *booking) write(ctx context.Context) error {
	for len(b.batch) > 0 {
		err := b.books.Write(ctx, b.batch)
		var poison interface {
			error
			PoisonSequence() uint64
		}
		switch {
		case err == nil:
			b.last = b.batch[len(b.batch)-1].Sequence
			b.batch = b.batch[:0]
		case errors.As(err, &poison) && b.drop(poison.PoisonSequence()):
			b.report.Refused++
			b.log.Warn("passed over", "error", poison)
		default:
			return err
		}
	}
	return nil
}

func (b *booking) drop(sequence uint64) bool {
	for i := range b.batch {
		if b.batch[i].Sequence == sequence {
			b.batch = append(b.batch[:i], b.batch[i+1:]...)
			return true
		}
	}
	return false
}
