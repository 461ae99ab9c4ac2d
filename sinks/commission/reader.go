package commission

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Reader is the reading side of the books. Its methods may be called from
// several goroutines, beside a writer in this or another process; each answer
// shows the books as they are after one whole batch.
type Reader struct {
	*dialect
	db    *sql.DB
	where string // path, for errors
	zone  *time.Location
}

func newReader(at *place, db *sql.DB, with []Option) *Reader {
	o := options{zone: time.UTC}
	for _, option := range with {
		option(&o)
	}
	return &Reader{dialect: at.dialect, db: db, where: at.where, zone: o.zone}
}

// fail explains an error of the database. It returns nil for nil.
func (r *Reader) fail(op string, err error) error { return storeError(op, r.where, err) }

// OpenReader opens the books at dsn, as [Open] takes it, for reading only: it
// creates and changes nothing. The error is a [*StoreError]; it wraps
// [fs.ErrNotExist] when there is no such file and [ErrNotBooks] when there are
// no tables in it yet.
func OpenReader(ctx context.Context, dsn string, with ...Option) (*Reader, error) {
	at, err := placeOf(dsn)
	if err != nil {
		return nil, err
	}
	db, err := at.openReader(ctx)
	if err != nil {
		return nil, storeError("open", at.where, err)
	}
	if err := checkSchema(ctx, db, at); err != nil {
		return nil, storeError("open", at.where, errors.Join(err, db.Close()))
	}
	return newReader(at, db, with), nil
}

// Position returns the sequence of the last entry of the log that is in the
// books, 0 for none.
func (r *Reader) Position(ctx context.Context) (uint64, error) {
	var sequence int64
	err := r.db.QueryRowContext(ctx, "SELECT sequence FROM commission_position").Scan(&sequence)
	return uint64(sequence), r.fail("read the position", err)
}

// Close closes the database.
func (r *Reader) Close() error { return r.fail("close", r.db.Close()) }
