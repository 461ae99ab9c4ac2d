package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const detailQuery = `SELECT head, details FROM orders
	WHERE program_id = ? AND order_sn = ? AND publisher_id = ?`

// orderDetail answers orders.detail.get: the order resource with its lines.
func (s *Service) orderDetail(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	program, sn := f.required("ProgramId"), f.required("OrderSn")
	if f.err != nil {
		return nil, f.err
	}
	var head, lines string
	err := s.store.row(ctx, detailQuery, []any{program, sn, by.publisher}, &head, &lines)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refuse(StatusNotFound, "the publisher has no such order")
	case err != nil:
		return nil, fmt.Errorf("read an order: %w", err)
	}
	w := recordWriter{zone: s.config.TimeZone, details: true}
	return w.append(b, head, lines), nil
}
