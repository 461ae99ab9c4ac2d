package commission

import (
	"context"
	"database/sql"
	"errors"
)

// Reader is the reading side of the books. Its methods may be called from
// several goroutines, beside a writer in this or another process; each answer
// shows the books as they are after one whole batch.
type Reader struct {
	db    *sql.DB
	where string // path, for errors
}

// OpenReader opens the books at dsn, as [Open] takes it, for reading only: it
// creates and changes nothing. The error is a [*StoreError]; it wraps
// [fs.ErrNotExist] when there is no such file and [ErrNotBooks] when there are
// no tables in it yet.
func OpenReader(ctx context.Context, dsn string) (*Reader, error) {
	path, err := filePath(dsn)
	if err != nil {
		return nil, err
	}
	db, err := openReader(path)
	if err != nil {
		return nil, storeError("open", path, err)
	}
	if err := checkSchema(ctx, db, path); err != nil {
		return nil, storeError("open", path, errors.Join(err, db.Close()))
	}
	return &Reader{db: db, where: path}, nil
}

// Position returns the sequence of the last entry of the log that is in the
// books, 0 for none.
func (r *Reader) Position(ctx context.Context) (uint64, error) {
	var sequence int64
	err := r.db.QueryRowContext(ctx, "SELECT sequence FROM commission_position").Scan(&sequence)
	return uint64(sequence), storeError("read the position", r.where, err)
}

// Close closes the database.
func (r *Reader) Close() error { return storeError("close", r.where, r.db.Close()) }
