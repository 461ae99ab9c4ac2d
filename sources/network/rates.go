package network

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"
)

// rate is what a program pays for an order line: a share of its amount, or a
// fixed amount for each item.
type rate struct {
	fixed bool
	value int64 // hundredths of a percent; or, when fixed, of the program's currency
}

// rates are those of a program by category; that of "" is for all others. A
// line with no rate at all earns nothing.
type rates map[string]rate

// of returns the rate of a category.
func (r rates) of(category string) rate {
	if own, known := r[category]; known {
		return own
	}
	return r[""]
}

// tariff is what the commission of an order is computed with.
type tariff struct {
	rates rates
	// factor is how much of the order's currency one of the program's currency
	// is, for fixed rates.
	factor decimal.Decimal
}

// exact returns the commission on an amount, in hundredths that are not
// rounded yet.
func (t tariff) exact(category string, amount cents, count int64) decimal.Decimal {
	r := t.rates.of(category)
	if r.fixed {
		return decimal.NewFromInt(r.value).Mul(decimal.NewFromInt(count)).Mul(t.factor)
	}
	return decimal.New(r.value, -4).Mul(decimal.NewFromInt(int64(amount)))
}

// commission returns the commission of a line, rounded half up.
func (t tariff) commission(category string, amount cents, count int64) cents {
	return roundCents(t.exact(category, amount, count))
}

// roundCents rounds hundredths half up; none are negative.
func roundCents(d decimal.Decimal) cents { return cents(d.Round(0).IntPart()) }

// rates reads the rates of a program.
func (c *change) rates(ctx context.Context, program string) (rates, error) {
	st, err := c.statement(ctx, `SELECT category, kind, value FROM commission_rates WHERE program_id = ?`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, program)
	if err != nil {
		return nil, fmt.Errorf("commission rates: %w", err)
	}
	defer rows.Close()
	all := map[string]rate{}
	for rows.Next() {
		var category, kind string
		var r rate
		if err := rows.Scan(&category, &kind, &r.value); err != nil {
			return nil, fmt.Errorf("commission rates: %w", err)
		}
		r.fixed = kind == fixedRate
		all[category] = r
	}
	return all, rows.Err()
}
