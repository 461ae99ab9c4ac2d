package commission

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Books is the writing side, a Sink of package pipeline. Its Write is called by
// one goroutine at a time, and so is CloseMonth, but the two may overlap; the
// methods of [Reader] may be called by any number.
type Books struct {
	*Reader
	writing sync.Mutex
	writer  *writer

	registers *registers
}

// Option changes how books are opened.
type Option func(*options)

type options struct{ zone *time.Location }

// InZone sets the zone of the days and months of posting, which is UTC without
// it. What is posted already stays where it is.
func InZone(zone *time.Location) Option { return func(o *options) { o.zone = zone } }

// Open opens the books at dsn for writing, and brings their tables up to date: a
// path or a "file:" URL of an SQLite database, which is created if need be, or a
// postgres:// address. The error is a [*StoreError].
func Open(ctx context.Context, dsn string, with ...Option) (*Books, error) {
	at, err := placeOf(dsn)
	if err != nil {
		return nil, err
	}
	db, err := at.openWriter(ctx)
	if err != nil {
		return nil, storeError("open", at.where, err)
	}
	if err := migrate(ctx, db, at); err != nil {
		return nil, storeError("open", at.where, errors.Join(err, db.Close()))
	}
	reader, err := at.openReader(ctx)
	if err != nil {
		return nil, storeError("open", at.where, errors.Join(err, db.Close()))
	}
	return &Books{
		Reader: newReader(at, reader, with),
		writer: &writer{dialect: at.dialect, db: db, prepared: map[string]*sql.Stmt{}},

		registers: newRegisters(),
	}, nil
}

// GoodBatch is how many events one Write should get at most: with more of them
// fewer rows of sums are written for each, but a batch that fails is longer.
const GoodBatch = 5000

// Write posts a batch and moves the position behind it, in one transaction that
// is on disk when Write returns; after an error nothing of the batch is there.
// The error is a [*StoreError], or an [*EntryError] for an event that can never
// be posted.
func (b *Books) Write(ctx context.Context, batch []schema.Entry) error {
	if len(batch) == 0 {
		return nil
	}
	states := make([]state, len(batch))
	for i := range batch {
		var err error
		if states[i], err = newState(&batch[i], b.text); err != nil {
			return err
		}
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	err := b.writer.in(ctx, func(s *session) error { return b.apply(ctx, s, states) })
	if err == nil {
		b.registers.keep()
	}
	return b.fail("write", err)
}

// apply writes within a transaction.
func (b *Books) apply(ctx context.Context, s *session, states []state) error {
	p, err := newPosting(ctx, s, b.zone, b.registers, states)
	if err != nil {
		return err
	}
	for i := range states {
		if err := p.take(&states[i]); err != nil {
			return err
		}
	}
	return p.write(ctx, s)
}

// Flush does nothing: Write leaves nothing in memory.
func (b *Books) Flush(context.Context) error { return nil }

// Close closes the database. Write must have returned.
func (b *Books) Close() error {
	return b.fail("close", errors.Join(b.db.Close(), b.writer.close()))
}
