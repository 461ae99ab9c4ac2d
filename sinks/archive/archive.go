package archive

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/orderwire/orderwire/schema"
)

// Archive is the archive of one folder, open for writing. Open it with [Open].
// Its methods are for one goroutine, except Stats.
type Archive struct {
	cfg     Config
	place   place
	lock    io.Closer
	encoder *encoder
	buffer  *buffer

	head   Commit  // the last commit
	repeat *intent // the batch that a crash has left to be written again, nil for none
	taken  uint64  // sequence of the last entry that is committed or in the buffer
	broken error   // why nothing can be written now, nil when it can

	mu    sync.Mutex
	stats Stats
}

// Open opens the archive in cfg.Dir, or begins a new one, and takes back what a
// crash has left unfinished. Only one archiver can have a folder open: for the
// second the error is a [LockedError]; in a bucket that comes of its commit. It is a [ConfigError], or several joined,
// for a wrong Config, a [StorageError] when the folder cannot be used, and a
// [ManifestError] when its content contradicts itself.
func Open(ctx context.Context, cfg Config) (*Archive, error) {
	at, err := placeAt(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	return openPlace(ctx, cfg, at)
}

func openPlace(ctx context.Context, cfg Config, at place) (*Archive, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	a := &Archive{cfg: cfg, place: at, buffer: newBuffer()}
	if a.encoder, err = newEncoder(cfg.ZstdLevel); err != nil {
		return nil, err
	}
	if a.lock, err = at.enter(ctx); err != nil {
		return nil, err
	}
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(err, a.lock.Close())
	}
	return a, nil
}

func (a *Archive) start(ctx context.Context) error {
	if _, err := a.Position(ctx); err != nil {
		return err
	}
	return checkEnd(ctx, a.place, &a.head)
}

// Position returns the sequence of the last event that is in the archive for
// good, 0 for none. It forgets what is buffered, and takes back what a failed
// commit has left in the folder.
func (a *Archive) Position(ctx context.Context) (uint64, error) {
	if errors.Is(a.broken, ErrClosed) {
		return 0, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	a.broken = ErrPosition
	if err := a.settle(ctx, nil); err != nil {
		return 0, err
	}
	a.broken = nil
	if a.repeat != nil {
		a.cfg.Logger.Info("archive: a batch was not finished and will be written again",
			"commit", a.repeat.Number, "first", a.repeat.First, "last", a.repeat.Last)
	}
	return a.head.Last, nil
}

// settle makes the state in memory that of the place. own is the intent of a
// commit that has just failed, nil for none.
func (a *Archive) settle(ctx context.Context, own *intent) error {
	a.buffer.reset()
	head, repeat, err := a.place.settle(ctx, own)
	if err != nil {
		return err
	}
	a.head, a.repeat, a.taken = head, repeat, head.Last
	a.report()
	return nil
}

// Write takes entries of ascending sequence, and commits each batch that they
// fill. Entries that the archive holds already are skipped. After an error the
// buffer is empty and Position has to be asked.
func (a *Archive) Write(ctx context.Context, batch []schema.Entry) error {
	if a.broken != nil {
		return a.broken
	}
	defer a.report()
	for i := range batch {
		if err := a.take(ctx, &batch[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) take(ctx context.Context, e *schema.Entry) error {
	if e.Sequence <= a.taken {
		return nil
	}
	if a.endsBefore(e) {
		if err := a.commit(ctx); err != nil {
			return err
		}
	}
	a.buffer.add(e)
	a.taken = e.Sequence
	if a.isFull() {
		return a.commit(ctx)
	}
	return nil
}

// endsBefore reports whether an entry belongs into the next batch.
func (a *Archive) endsBefore(e *schema.Entry) bool {
	if a.repeat != nil {
		return e.Sequence > a.repeat.Last
	}
	return a.buffer.rows > 0 && e.Stored.Sub(a.buffer.since) > a.cfg.RollEvery
}

// isFull reports whether the batch ends with the last entry taken.
func (a *Archive) isFull() bool {
	if a.repeat != nil {
		return a.taken == a.repeat.Last
	}
	return a.buffer.bytes >= a.cfg.RollBytes
}

// Flush commits what is buffered, if anything is. There is one exception: a
// batch that a crash has left unfinished is written again exactly as it was, so
// while its entries come again Flush leaves it open. They are in the log, and
// Position does not count them.
func (a *Archive) Flush(ctx context.Context) error {
	if a.broken != nil {
		return a.broken
	}
	if a.repeat != nil {
		return nil
	}
	return a.commit(ctx)
}

// Close lets go of the folder. What is buffered is forgotten: call Flush before.
// A second Close does nothing.
func (a *Archive) Close() error {
	if errors.Is(a.broken, ErrClosed) {
		return nil
	}
	a.broken = ErrClosed
	a.buffer.reset()
	a.report()
	if err := a.lock.Close(); err != nil {
		return storageError("unlock", a.place.path(lockName), err)
	}
	return nil
}
