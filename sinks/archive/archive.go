package archive

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Archive is the archive of one folder, open for writing. Open it with [Open].
// Its methods are for one goroutine, except Stats.
type Archive struct {
	cfg     Config
	place   place
	lock    io.Closer
	encoder *encoder

	buffer   *buffer   // the batch that grows
	underway *underway // the batch before it, while it is being committed, nil for none
	spare    *buffer   // memory for the batch behind it, empty; may be nil

	repeat *intent // the batch that grows, when a crash has left it to be written again, nil for none
	taken  uint64  // sequence of the last entry that is committed or in a batch
	broken error   // why nothing can be written now, nil when it can

	following *following // nil without a Follower

	mu    sync.Mutex
	head  Commit // the last commit; a commit under way changes it
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
	a.following = startFollowing(ctx, cfg.Follower, a.head.Number, cfg.Logger)
	return a, nil
}

func (a *Archive) start(ctx context.Context) error {
	if _, err := a.Position(ctx); err != nil {
		return err
	}
	if err := a.finishStaged(ctx); err != nil {
		return err
	}
	return checkEnd(ctx, a.place)
}

// finishStaged puts right what a compaction has left that a crash has stopped. One
// that is at work does it itself.
func (a *Archive) finishStaged(ctx context.Context) error {
	if names, err := a.place.list(ctx, stagedDir); err != nil || len(names) == 0 {
		return err
	}
	lock, err := a.place.lock(compactLockName)
	var busy *LockedError
	if errors.As(err, &busy) {
		return nil
	}
	if err != nil {
		return err
	}
	finished, err := finishStaged(ctx, a.place, time.Now())
	if finished > 0 {
		a.cfg.Logger.Info("archive: compactions that were not finished have been", "compactions", finished)
	}
	return errors.Join(err, lock.Close())
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
	_ = a.await(ctx) // whether it went well, the place tells
	a.broken = ErrPosition
	if err := a.settle(ctx); err != nil {
		return 0, err
	}
	a.broken = nil
	if a.repeat != nil {
		a.cfg.Logger.Info("archive: a batch was not finished and will be written again",
			"commit", a.repeat.Number, "first", a.repeat.First, "last", a.repeat.Last)
	}
	return a.head.Last, nil
}

// settle makes the state in memory that of the place.
func (a *Archive) settle(ctx context.Context) error {
	a.buffer.reset()
	head, repeat, err := a.place.settle(ctx, nil)
	if err != nil {
		return err
	}
	a.repeat, a.taken = repeat, head.Last
	a.advance(head)
	a.report()
	return nil
}

// Write takes entries of ascending sequence, and begins the commit of each batch
// that they fill. The commit goes on while the next batch grows; its error comes
// from a later Write, or from Flush, which waits for it. Entries that the archive
// holds already are skipped. After an error the buffer is empty and Position has
// to be asked.
func (a *Archive) Write(ctx context.Context, batch []schema.Entry) error {
	if a.broken != nil {
		return a.broken
	}
	defer a.report()
	if u := a.underway; u != nil && u.over() {
		if err := a.await(ctx); err != nil {
			return err
		}
	}
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
		if err := a.cut(ctx); err != nil {
			return err
		}
	}
	a.buffer.add(e)
	a.taken = e.Sequence
	if a.isFull() {
		return a.cut(ctx)
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

// Flush commits what is buffered, if anything is, and returns when all of it is
// in the archive for good. There is one exception: a batch that a crash has left
// unfinished is written again exactly as it was, so while its entries come again
// Flush leaves it open. They are in the log, and Position does not count them.
func (a *Archive) Flush(ctx context.Context) error {
	if a.broken != nil {
		return a.broken
	}
	a.following.retry()
	if a.repeat != nil {
		return nil
	}
	defer a.report()
	return a.finish(ctx)
}

// Close lets go of the folder. What is buffered is forgotten, and a commit under
// way is given up: call Flush before. It gives a Follower some seconds to take
// over the last commit. A second Close does nothing.
func (a *Archive) Close() error {
	if errors.Is(a.broken, ErrClosed) {
		return nil
	}
	if a.underway != nil {
		a.underway.cancel()
		<-a.underway.done
	}
	a.broken = ErrClosed
	a.following.close()
	a.buffer.reset()
	a.report()
	if err := a.lock.Close(); err != nil {
		return storageError("unlock", a.place.path(lockName), err)
	}
	return nil
}
