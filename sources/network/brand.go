package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ownPrograms is the condition on orders that a brand sees.
const ownPrograms = `program_id IN (SELECT id FROM programs WHERE advertiser_id = ?)`

// brandOrders answers orders.query.get for a brand, an operation of our own:
// the orders of its programs, with the parameters and the records of the
// publisher's list.
func (s *Service) brandOrders(ctx context.Context, by caller, f *form, out []byte) ([]byte, error) {
	l, err := parseListing(f)
	if err != nil {
		return nil, err
	}
	from := ` FROM orders WHERE ` + ownPrograms + ` AND ` + l.column + ` BETWEEN ? AND ?` + l.where
	counting, err := s.store.statement(ctx, `SELECT COUNT(*)`+from)
	if err != nil {
		return nil, err
	}
	reading, err := s.store.statement(ctx, `SELECT head, details`+from+` ORDER BY `+l.column+`, id LIMIT ? OFFSET ?`)
	if err != nil {
		return nil, err
	}
	args := append([]any{by.advertiser, l.from, l.to}, l.filters...)
	b := listBuffer{bare: s.config.BareList, writer: recordWriter{s.config.TimeZone, !s.config.OmitDetails}, out: out}
	b.begin()
	var total int64
	err = s.store.snapshot(ctx, func(tx *sql.Tx) error {
		if err := counting.in(ctx, tx).QueryRowContext(ctx, args...).Scan(&total); err != nil {
			return err
		}
		return readRecords(ctx, reading.in(ctx, tx), append(args, l.size, l.offset()), &b)
	})
	if err != nil {
		return nil, fmt.Errorf("list the orders of a brand: %w", err)
	}
	return b.end(&l, total), nil
}

// readRecords reads heads and lines of orders into b.
func readRecords(ctx context.Context, st prepared, args []any, b *listBuffer) error {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var head, lines string
	for rows.Next() {
		if err := rows.Scan(&head, &lines); err != nil {
			return err
		}
		b.add(head, lines)
	}
	return rows.Err()
}

// brandOrder answers orders.detail.get for a brand, an operation of our own.
func (s *Service) brandOrder(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	program, sn := f.required("ProgramId"), f.required("OrderSn")
	if f.err != nil {
		return nil, f.err
	}
	var head, lines string
	err := s.store.row(ctx, `SELECT head, details FROM orders WHERE program_id = ? AND order_sn = ? AND `+ownPrograms,
		[]any{program, sn, by.advertiser}, &head, &lines)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refuse(StatusNotFound, "the brand has no such order")
	case err != nil:
		return nil, fmt.Errorf("read an order: %w", err)
	}
	w := recordWriter{zone: s.config.TimeZone, details: true}
	return w.append(b, head, lines), nil
}
