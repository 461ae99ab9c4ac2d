package commission

import (
	"context"
	"database/sql"
	"errors"

	"github.com/orderwire/orderwire/schema"
)

// upsertState takes the row of an event, unless the order's row is as new. The
// columns after the key and their values stand in the order of [state.values].
const upsertState = `
INSERT INTO commission_orders (account, program_id, order_sn, version, sequence, observed_at, vanished,
	program_name, website_id, link_id, sub_id, day, charge_day,
	status, currency, order_amount, commission,
	estimated_currency, estimated_amount, estimated_commission,
	confirmed_currency, confirmed_amount, confirmed_commission)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (account, program_id, order_sn) DO UPDATE SET
	version = excluded.version, sequence = excluded.sequence, observed_at = excluded.observed_at,
	vanished = excluded.vanished, program_name = excluded.program_name, website_id = excluded.website_id,
	link_id = excluded.link_id, sub_id = excluded.sub_id, day = excluded.day, charge_day = excluded.charge_day,
	status = excluded.status, currency = excluded.currency,
	order_amount = excluded.order_amount, commission = excluded.commission,
	estimated_currency = excluded.estimated_currency, estimated_amount = excluded.estimated_amount,
	estimated_commission = excluded.estimated_commission,
	confirmed_currency = excluded.confirmed_currency, confirmed_amount = excluded.confirmed_amount,
	confirmed_commission = excluded.confirmed_commission
WHERE excluded.version > commission_orders.version`

// advancePosition never goes back: what lies behind the position has been
// posted, also when a part of the log is posted again.
const advancePosition = `UPDATE commission_position SET sequence = ?1 WHERE sequence < ?1`

// observedLayout has a fixed width, so that the texts sort as the times do.
const observedLayout = "2006-01-02T15:04:05.000000Z"

// Books is the writing side, a Sink of package pipeline. Its Write is called by
// one goroutine at a time; the methods of [Reader] may be called by any number.
type Books struct {
	*Reader
	writer *sql.DB
}

// Open opens the books at dsn for writing: a path or a "file:" URL of an SQLite
// database, which is created if need be, and whose tables are brought up to
// date. The error is a [*StoreError].
func Open(ctx context.Context, dsn string) (*Books, error) {
	path, err := filePath(dsn)
	if err != nil {
		return nil, err
	}
	writer, err := openWriter(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	if err := migrate(ctx, writer, path); err != nil {
		return nil, storeError("open", path, errors.Join(err, writer.Close()))
	}
	db, err := openReader(path)
	if err != nil {
		return nil, storeError("open", path, errors.Join(err, writer.Close()))
	}
	return &Books{Reader: &Reader{db: db, where: path}, writer: writer}, nil
}

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
		if states[i], err = newState(&batch[i]); err != nil {
			return err
		}
	}
	return storeError("write", b.where, b.post(ctx, states))
}

func (b *Books) post(ctx context.Context, states []state) error {
	tx, err := b.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := apply(ctx, tx, states); err != nil {
		_ = tx.Rollback() // SQLite may have done it already; err says why
		return err
	}
	return tx.Commit()
}

// apply writes within the transaction. The statements get a context without an
// end, because the driver would start a goroutine for each of them to watch it;
// the end is looked at here instead, and by the transaction.
func apply(ctx context.Context, tx *sql.Tx, states []state) error {
	endless := context.WithoutCancel(ctx)
	upsert, err := tx.PrepareContext(endless, upsertState)
	if err != nil {
		return err
	}
	defer upsert.Close()
	var last uint64
	for i := range states {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := upsert.ExecContext(endless, states[i].values()...); err != nil {
			return errors.Join(ctx.Err(), err)
		}
		last = max(last, states[i].sequence)
	}
	_, err = tx.ExecContext(endless, advancePosition, int64(last))
	return err
}

func (s *state) values() []any {
	return []any{
		s.key.Account, s.key.Program, s.key.OrderSn, int64(s.version), int64(s.sequence),
		s.observedAt.UTC().Format(observedLayout), s.vanished,
		s.programName, s.websiteID, s.linkID, s.subID, s.day, s.chargeDay,
		s.counted.status, s.counted.currency, s.counted.amount, s.counted.commission,
		s.estimated.currency, s.estimated.amount, s.estimated.commission,
		s.confirmed.currency, s.confirmed.amount, s.confirmed.commission,
	}
}

// Flush does nothing: Write leaves nothing in memory.
func (b *Books) Flush(context.Context) error { return nil }

// Close closes the database. Write must have returned.
func (b *Books) Close() error {
	return storeError("close", b.where, errors.Join(b.db.Close(), b.writer.Close()))
}
