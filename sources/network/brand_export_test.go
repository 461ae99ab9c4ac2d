package network

import (
	"cmp"
	"context"
)

// TestProgram is a program for the tests outside of the package, as the
// management writes it. Empty fields mean an open program in yuan, of nobody,
// that takes clicks of 30 days.
type TestProgram struct {
	ID                       string
	Brand                    string // name of its advertiser
	Status                   string
	Currency, ChargeCurrency string
	Exchange                 string
	ClickDays                int64
	Domains                  []string
	Rates                    []TestRate
}

// TestRate is a row of commission_rates.
type TestRate struct {
	Category, Kind string
	Value          int64
}

// PutTestProgram writes a program, in place of the one with its id.
func (s *Service) PutTestProgram(ctx context.Context, p TestProgram) error {
	return s.store.change(ctx, func(c *change) error {
		var brand any
		if p.Brand != "" {
			id, err := c.named(ctx, advertisers, p.Brand)
			if err != nil {
				return err
			}
			brand = id
		}
		for _, table := range []string{"program_domains", "commission_rates"} {
			if err := c.exec(ctx, `DELETE FROM `+table+` WHERE program_id = ?`, p.ID); err != nil {
				return err
			}
		}
		err := c.exec(ctx, `INSERT INTO programs (id, name, domain, currency, charge_currency, commission_rate, created_at,
			advertiser_id, status, exchange_rate, click_days) VALUES (?, ?, '', ?, ?, 0, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET status = excluded.status, exchange_rate = excluded.exchange_rate`,
			p.ID, "Program "+p.ID, cmp.Or(p.Currency, "CNY"), cmp.Or(p.ChargeCurrency, p.Currency, "CNY"), c.now, brand,
			cmp.Or(p.Status, ProgramOpen), cmp.Or(p.Exchange, "1"), cmp.Or(p.ClickDays, 30))
		if err != nil {
			return err
		}
		for _, domain := range p.Domains {
			if err := c.exec(ctx, `INSERT INTO program_domains (program_id, domain) VALUES (?, ?)`, p.ID, domain); err != nil {
				return err
			}
		}
		for _, r := range p.Rates {
			err := c.exec(ctx, `INSERT INTO commission_rates (program_id, category, kind, value) VALUES (?, ?, ?, ?)`,
				p.ID, r.Category, r.Kind, r.Value)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
