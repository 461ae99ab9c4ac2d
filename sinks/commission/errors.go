package commission

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// What a [StoreError] may wrap.
var (
	// ErrFull says that the disk or the database is full. Nothing is lost: the
	// batch comes again.
	ErrFull = errors.New("no space left")
	// ErrLocked says that another process holds the database's write lock.
	ErrLocked = errors.New("locked by another process")
	// ErrAccess says that the file or its folder cannot be opened or written, or
	// that the server cannot be reached or refuses.
	ErrAccess = errors.New("cannot be opened or written")
	// ErrDamaged says that the file is no SQLite database, or a broken one.
	ErrDamaged = errors.New("not a usable SQLite database")
	// ErrNotBooks says that the database holds no commission books.
	ErrNotBooks = errors.New("holds no commission books")
	// ErrSchema says that another version of Orderwire made the tables.
	ErrSchema = errors.New("tables of another version of Orderwire")
	// ErrUnbalanced says that a transaction of the ledger would not add up to
	// zero, which is a mistake of this program. Nothing of the batch is written.
	ErrUnbalanced = errors.New("a transaction does not balance")
	// ErrDSN says that the address of the database cannot be used.
	ErrDSN = errors.New("cannot be used as commission database")
)

// StoreError says what the books could not do, where, and what to do about it.
type StoreError struct {
	Op    string // "open", "write", "report", …
	Where string // path of the file, or the server and its database; of an address that cannot be used only the scheme
	Hint  string // what to do, "" when there is nothing to say
	Cause error  // wraps one of this package's errors where one fits
}

// Error gives all of it in one line.
func (e *StoreError) Error() string {
	text := fmt.Sprintf("commission books %s: %s: %v", e.Where, e.Op, e.Cause)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Cause }

// EntryError says which event cannot be posted. The log should not hold such
// an event: [schema.Order.Check] keeps it out.
type EntryError struct {
	Sequence uint64 // of the event in the log
	EventID  string // its id
	Cause    error  // names the field; wraps [schema.ErrAmountRange]
}

// Error names the event and the field, and no value.
func (e *EntryError) Error() string {
	return fmt.Sprintf("commission books: event %s (sequence %d) cannot be posted: %v", e.EventID, e.Sequence, e.Cause)
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Cause }

// Permanent is true: writing the same event again fails again.
func (e *EntryError) Permanent() bool { return true }

// PoisonSequence names the event for the runner, which sets it aside.
func (e *EntryError) PoisonSequence() uint64 { return e.Sequence }

// FilterError says which field of a [Filter] cannot be used.
type FilterError struct {
	Field   string // "from" or "to"
	Problem string // what is wrong with it
}

// Error names field and problem.
func (e *FilterError) Error() string { return "report: " + e.Field + ": " + e.Problem }

// storeError explains err. It returns nil for nil.
func storeError(op, where string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*StoreError](err); ok {
		return known
	}
	e := &StoreError{Op: op, Where: where, Cause: err}
	hint, kind := explain(err)
	e.Hint = hint
	if kind != nil {
		e.Cause = fmt.Errorf("%w: %w", kind, err)
	}
	return e
}

// explain maps an error of a database to a hint and an error of this package,
// nil when none fits.
func explain(err error) (hint string, kind error) {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return explainSQLite(e.Code())
	}
	return postgresError(err)
}
