package commission

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// Audited is what an order counts as, by the rules of the package: in the books,
// or after an event of the log.
type Audited struct {
	Key        schema.OrderKey // its texts as the books store them
	Version    uint64
	Sequence   uint64 // of the event in the log
	ObservedAt string // as in [Order]
	Vanished   bool   // as in [Order]
	Day        string // of placement, as in [Sum]
	Status     string // as in [Sum]
	Currency   string
	// OrderAmount and Commission are hundredths of Currency.
	OrderAmount, Commission int64
}

// Audited returns what the books count an order as after an event, when they have
// taken it. The error is an [*EntryError] for an event that they cannot take.
func (r *Reader) Audited(e *schema.Entry) (Audited, error) {
	s, err := newState(e, r.text)
	if err != nil {
		return Audited{}, err
	}
	return Audited{
		Key: s.key, Version: s.version, Sequence: s.sequence, ObservedAt: stamp(s.observedAt), Vanished: s.vanished != 0,
		Day: dayText(s.day), Status: s.counted.status, Currency: s.counted.currency, OrderAmount: s.counted.amount, Commission: s.counted.commission,
	}, nil
}

// Stamp writes a time as [Audited.ObservedAt] has it: such texts sort as the times
// do.
func Stamp(t time.Time) string { return stamp(t) }

// AuditedKey returns a key with its texts as the books store them.
func (r *Reader) AuditedKey(k schema.OrderKey) schema.OrderKey {
	return schema.OrderKey{Account: r.text(k.Account), Program: r.text(k.Program), OrderSn: r.text(k.OrderSn)}
}

// Audit is one state of the books, for holding it against something else. One
// goroutine uses it. As long as it is open, an SQLite database keeps what is
// written beside it in its -wal file.
type Audit struct {
	reader   *Reader
	tx       *sql.Tx
	position uint64
}

// Audit opens the present state of the books; Close ends it. The error is a
// [*StoreError].
func (r *Reader) Audit(ctx context.Context) (*Audit, error) {
	tx, err := r.db.BeginTx(ctx, r.reading)
	if err != nil {
		return nil, r.fail("audit", err)
	}
	var sequence int64
	if err := tx.QueryRowContext(ctx, "SELECT sequence FROM commission_position").Scan(&sequence); err != nil {
		return nil, r.fail("audit", errors.Join(err, tx.Rollback()))
	}
	return &Audit{reader: r, tx: tx, position: uint64(sequence)}, nil
}

// Position is the sequence of the last entry of the log that is in this state, 0
// for none.
func (a *Audit) Position() uint64 { return a.position }

// Close lets go of the state.
func (a *Audit) Close() { _ = a.tx.Rollback() } // it has only read

const (
	countAudited   = "SELECT COUNT(*) FROM commission_orders"
	selectAudited  = "SELECT account, program_id, order_sn, version, sequence, observed_at, vanished, day, status, currency, order_amount, commission FROM commission_orders"
	auditedAccount = " WHERE account = ?"
)

// Count returns the number of the orders of an account, of all with "".
func (a *Audit) Count(ctx context.Context, account string) (n int64, err error) {
	query, args := a.only(countAudited, auditedAccount, account)
	err = a.tx.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, a.reader.fail("audit", err)
}

// Orders returns the orders of an account, of all with "", in no order and without
// holding them. The error is a [*StoreError], and the last that comes.
func (a *Audit) Orders(ctx context.Context, account string) iter.Seq2[Audited, error] {
	query, args := a.only(selectAudited, auditedAccount, account)
	return streamed(ctx, a, scanAudited, query, args...)
}

// only adds a condition on the account, unless it is "".
func (a *Audit) only(query, condition, account string) (string, []any) {
	if account == "" {
		return query, nil
	}
	return a.reader.rebind(query + condition), []any{a.reader.text(account)}
}

func scanAudited(rows *sql.Rows) (Audited, error) {
	var o Audited
	var version, sequence, vanished int64
	err := rows.Scan(&o.Key.Account, &o.Key.Program, &o.Key.OrderSn, &version, &sequence, &o.ObservedAt, &vanished,
		&o.Day, &o.Status, &o.Currency, &o.OrderAmount, &o.Commission)
	o.Version, o.Sequence, o.Vanished = uint64(version), uint64(sequence), vanished != 0
	return o, err
}

// streamed hands the rows of a query over one by one.
func streamed[T any](ctx context.Context, a *Audit, scan func(*sql.Rows) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		taken := true
		err := each(ctx, a.tx, func(rows *sql.Rows) (bool, error) {
			row, err := scan(rows)
			if err == nil {
				taken = yield(row, nil)
			}
			return taken, err
		}, query, args...)
		if err != nil && taken {
			var none T
			yield(none, a.reader.fail("audit", err))
		}
	}
}
