package network

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/orderwire/orderwire/schema"
)

// Rate is the commission of the order lines of a category.
type Rate struct {
	// Category is the CateId of the lines, "" for all that have no rate of their
	// own.
	Category string `json:"category"`
	// Value is a share of the line's amount, "7.5%", or an amount for each item in
	// the program's currency, "3.00"; either with at most two decimal places.
	Value string `json:"value"`
}

// The kinds of a rate in commission_rates.
const (
	percentRate = "percent"
	fixedRate   = "fixed"
)

// hundredths reads the value: hundredths of a percent, or of the currency.
func (r Rate) hundredths() (kind string, value int64, err error) {
	kind, most := fixedRate, decimal.New(99_999_999, 0)
	text, percent := strings.CutSuffix(r.Value, "%")
	if percent {
		kind, most = percentRate, decimal.New(100, 0)
	}
	d, err := decimal.NewFromString(text)
	if err != nil || schema.ValidateDecimal("Value", text) != nil || d.IsNegative() || d.GreaterThan(most) {
		return "", 0, &ConfigError{"Rate", `give a share like 7.5%, at most 100%, or an amount for each item like 3.00`}
	}
	return kind, d.Shift(schema.MoneyScale).IntPart(), nil
}

// SetRate sets the commission of a category of a program's order lines. Orders
// that are there keep theirs. The error is a [*ConfigError], or wraps
// [ErrNotFound].
func (s *Service) SetRate(ctx context.Context, program string, r Rate) error {
	if err := checkRates([]Rate{r}); err != nil {
		return err
	}
	return s.changeProgram(ctx, program, func(c *change) error { return c.setRate(ctx, program, r) })
}

func checkRates(rates []Rate) error {
	var errs []error
	for _, r := range rates {
		_, _, err := r.hundredths()
		errs = append(errs, err, checkText("Category", r.Category, maxName))
	}
	return errors.Join(errs...)
}

func (c *change) setRate(ctx context.Context, program string, r Rate) error {
	kind, value, err := r.hundredths()
	if err != nil {
		return err
	}
	return c.exec(ctx, `INSERT INTO commission_rates (program_id, category, kind, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (program_id, category) DO UPDATE SET kind = excluded.kind, value = excluded.value`,
		program, r.Category, kind, value)
}

// RemoveRate takes the rate of a category away, so that its lines get that of
// "", or no commission. The error wraps [ErrNotFound].
func (s *Service) RemoveRate(ctx context.Context, program, category string) error {
	return s.changeProgram(ctx, program, func(c *change) error {
		known, err := c.found(ctx, `DELETE FROM commission_rates WHERE program_id = ? AND category = ? RETURNING 1`,
			[]any{program, category}, new(int))
		if err == nil && !known {
			err = fmt.Errorf("rate of category %q: %w", category, ErrNotFound)
		}
		return err
	})
}

// Rates returns the rates of a program by category. The error wraps
// [ErrNotFound].
func (s *Service) Rates(ctx context.Context, program string) ([]Rate, error) {
	if err := s.mustKnowProgram(ctx, program); err != nil {
		return nil, err
	}
	return listOf(ctx, s.store, `SELECT category, kind, value FROM commission_rates WHERE program_id = ? ORDER BY category`,
		[]any{program}, func(scan scanner) (r Rate, err error) {
			var kind string
			var value int64
			err = scan(&r.Category, &kind, &value)
			if r.Value = cents(value).money().String(); kind == percentRate {
				r.Value += "%"
			}
			return r, err
		})
}

// changeProgram runs fn in a change of a program that is there, and notes that it
// was changed.
func (s *Service) changeProgram(ctx context.Context, program string, fn func(c *change) error) error {
	return s.store.change(ctx, func(c *change) error {
		known, err := c.found(ctx, `UPDATE programs SET updated_at = ? WHERE id = ? RETURNING 1`, []any{c.now, program}, new(int))
		if err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("program %q: %w", program, ErrNotFound)
		}
		return fn(c)
	})
}

func (s *Service) mustKnowProgram(ctx context.Context, id string) error {
	if err := s.store.row(ctx, `SELECT 1 FROM programs WHERE id = ?`, []any{id}, new(int)); err != nil {
		return notFound(err, "program", id)
	}
	return nil
}
