package network

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"
)

// offer is a program of the database, as an order report needs it.
type offer struct {
	id, name       string
	open           bool
	currency       string          // of the estimates
	chargeCurrency string          // of the confirmed amounts
	exchange       decimal.Decimal // chargeCurrency for one of currency
	clickDays      int64           // how long a click is good for an order
	rates          rates
}

// offerOf returns a program of an advertiser: the one with the id, or with the
// id "" its only one.
func (c *change) offerOf(ctx context.Context, advertiser int64, id string) (*offer, error) {
	ids, err := c.programsOf(ctx, advertiser)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, refuse(StatusNotFound, "the brand has no program")
	case id == "" && len(ids) > 1:
		return nil, refuse(StatusParameter, "parameter ProgramId: want a value, the brand has several programs")
	case id == "":
		id = ids[0]
	}
	return c.offer(ctx, advertiser, id)
}

// programsOf returns one or two programs of an advertiser.
func (c *change) programsOf(ctx context.Context, advertiser int64) ([]string, error) {
	st, err := c.statement(ctx, `SELECT id FROM programs WHERE advertiser_id = ? LIMIT 2`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, advertiser)
	if err != nil {
		return nil, fmt.Errorf("programs of a brand: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("programs of a brand: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (c *change) offer(ctx context.Context, advertiser int64, id string) (*offer, error) {
	o := &offer{id: id}
	var status, exchange string
	known, err := c.found(ctx, `SELECT name, status, currency, charge_currency, exchange_rate, click_days
		FROM programs WHERE id = ? AND advertiser_id = ?`, []any{id, advertiser},
		&o.name, &status, &o.currency, &o.chargeCurrency, &exchange, &o.clickDays)
	if err != nil {
		return nil, fmt.Errorf("look a program up: %w", err)
	}
	if !known {
		return nil, refuse(StatusNotFound, "ProgramId: the brand has no such program")
	}
	o.open = status == ProgramOpen
	if o.exchange, err = decimal.NewFromString(exchange); err != nil {
		return nil, fmt.Errorf("exchange rate of program %q: %w", id, err)
	}
	o.rates, err = c.rates(ctx, id)
	return o, err
}

// openProgram returns the open program that has the domain of a host: the one
// with the longest domain, and among several with that domain the lowest id;
// "" when there is none. A program in only, unless it is "", is the only one
// that counts.
func (c *change) openProgram(ctx context.Context, host, only string) (string, error) {
	query := `SELECT p.id FROM program_domains d JOIN programs p ON p.id = d.program_id
		WHERE d.domain = ? AND p.status = '` + ProgramOpen + `'`
	var extra []any
	if only != "" {
		query, extra = query+` AND p.id = ?`, []any{only}
	}
	query += ` ORDER BY LENGTH(p.id), p.id LIMIT 1`
	for _, domain := range domains(host) {
		var id string
		known, err := c.found(ctx, query, append([]any{domain}, extra...), &id)
		if err != nil {
			return "", fmt.Errorf("look a domain up: %w", err)
		}
		if known {
			return id, nil
		}
	}
	return "", nil
}
