package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"
)

// The states of a [Program].
const (
	ProgramOpen   = "open"
	ProgramClosed = "closed" // no new links, clicks and orders; those that are there go on
)

// DefaultClickDays is the ClickDays of a program that names none.
const DefaultClickDays = 30

// Program is an advertising program of a brand.
type Program struct {
	// ID is the ProgramId, at most 255 characters. A new program without one
	// gets a number.
	ID string `json:"id"`
	// Brand is the name of the brand, "" for a program of the simulation.
	Brand string `json:"brand"`
	Name  string `json:"name"` // at most 255 characters
	// Domains are where the links of the program may lead, with their
	// subdomains, as they stand in DNS: shop.example.
	Domains []string `json:"domains"`
	// Currency is that of the estimates, ChargeCurrency that of the confirmed
	// amounts: CNY or USD (specification 2.3). CNY, and Currency, when empty.
	// They stay once the program has orders.
	Currency       string `json:"currency"`
	ChargeCurrency string `json:"charge_currency"`
	// ExchangeRate is the amount in ChargeCurrency for 1 in Currency, at most 8
	// decimal places. It has to be given where they differ, and is 1 otherwise.
	ExchangeRate decimal.Decimal `json:"exchange_rate"`
	// ClickDays is how long a click is good for an order, 1 to 365 days; 30 when 0.
	ClickDays   int64  `json:"click_days"`
	Description string `json:"description"` // at most 2000 characters
	Category    string `json:"category"`    // at most 255 characters
	Status      string `json:"status"`      // ProgramOpen, which it is when empty, or ProgramClosed
}

// CreateProgram adds a program with its rates and returns it as it is stored.
// The error is a [*ConfigError] for every field that is wrong, joined, and wraps
// [ErrNotFound] for a brand that is not there, and [ErrTaken] for an ID that is.
func (s *Service) CreateProgram(ctx context.Context, p Program, rates ...Rate) (Program, error) {
	p = p.complete()
	err := errors.Join(p.check(), checkRates(rates))
	if p.Brand == "" {
		err = errors.Join(&ConfigError{"Brand", "empty, give the name of the brand"}, err)
	}
	if err != nil {
		return Program{}, err
	}
	asked := p.ID
	err = s.store.change(ctx, func(c *change) error {
		p.ID = asked
		if err := c.createProgram(ctx, &p); err != nil {
			return err
		}
		for _, r := range rates {
			if err := c.setRate(ctx, p.ID, r); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// SetProgram changes a program: edit gets it as it is stored, and may run several
// times. ID and Brand stay what they are. It returns the program as it is stored
// then; the errors are those of [Service.CreateProgram].
func (s *Service) SetProgram(ctx context.Context, id string, edit func(*Program)) (Program, error) {
	var p Program
	err := s.store.change(ctx, func(c *change) error {
		before, err := c.storedProgram(ctx, id)
		if err != nil {
			return err
		}
		p = before
		edit(&p)
		p.ID, p.Brand = before.ID, before.Brand
		if p.Currency != before.Currency || p.ChargeCurrency != before.ChargeCurrency {
			if err := c.refuseOrders(ctx, id); err != nil {
				return err
			}
			if p.ExchangeRate.Equal(before.ExchangeRate) {
				p.ExchangeRate = decimal.Zero // which was for other currencies
			}
		}
		p = p.complete()
		if err := p.check(); err != nil {
			return err
		}
		return c.updateProgram(ctx, &p)
	})
	return p, err
}

// complete fills the defaults in and brings lists into their order.
func (p Program) complete() Program {
	p.Currency = cmp.Or(p.Currency, defaultCurrency)
	p.ChargeCurrency = cmp.Or(p.ChargeCurrency, p.Currency)
	p.ClickDays = cmp.Or(p.ClickDays, DefaultClickDays)
	p.Status = cmp.Or(p.Status, ProgramOpen)
	if p.Currency == p.ChargeCurrency && p.ExchangeRate.IsZero() {
		p.ExchangeRate = decimal.NewFromInt(1)
	}
	p.Domains = slices.Compact(slices.Sorted(slices.Values(p.Domains)))
	return p
}

func (c *change) createProgram(ctx context.Context, p *Program) error {
	brand, err := c.ownerNamed(ctx, advertisers, p.Brand)
	if err != nil {
		return err
	}
	if p.ID == "" {
		p.ID, err = c.newID(ctx, "programs")
	} else {
		err = c.refuseProgram(ctx, p.ID)
	}
	if err != nil {
		return err
	}
	// domain and commission_rate are of a time when a program had one of each.
	err = c.exec(ctx, `INSERT INTO programs (id, advertiser_id, name, domain, currency, charge_currency, commission_rate, created_at)
		VALUES (?, ?, ?, ?, ?, ?, 0, ?)`, p.ID, brand, p.Name, p.Domains[0], p.Currency, p.ChargeCurrency, c.now)
	if err != nil {
		return err
	}
	return c.updateProgram(ctx, p)
}

func (c *change) refuseProgram(ctx context.Context, id string) error {
	switch _, err := c.storedProgram(ctx, id); {
	case err == nil:
		return fmt.Errorf("program %q: %w", id, ErrTaken)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	return nil
}

func (c *change) refuseOrders(ctx context.Context, program string) error {
	ordered, err := c.found(ctx, `SELECT 1 FROM orders WHERE program_id = ? LIMIT 1`, []any{program}, new(int))
	if err == nil && ordered {
		return &ConfigError{"Currency", "the program has orders, whose amounts are in its currencies; add another program"}
	}
	return err
}

// updateProgram writes all of a program that may change.
func (c *change) updateProgram(ctx context.Context, p *Program) error {
	err := c.exec(ctx, `UPDATE programs SET name = ?, domain = ?, currency = ?, charge_currency = ?, exchange_rate = ?, click_days = ?,
		description = ?, category = ?, status = ?, updated_at = ? WHERE id = ?`,
		p.Name, p.Domains[0], p.Currency, p.ChargeCurrency, p.ExchangeRate.String(), p.ClickDays, p.Description, p.Category,
		p.Status, c.now, p.ID)
	if err != nil {
		return err
	}
	if err := c.exec(ctx, `DELETE FROM program_domains WHERE program_id = ?`, p.ID); err != nil {
		return err
	}
	for _, domain := range p.Domains {
		if err := c.exec(ctx, `INSERT INTO program_domains (program_id, domain) VALUES (?, ?)`, p.ID, domain); err != nil {
			return err
		}
	}
	return nil
}
