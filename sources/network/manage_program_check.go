package network

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
)

// check returns a [*ConfigError] for every field that is wrong, joined.
func (p *Program) check() error {
	errs := []error{
		checkText("ID", p.ID, maxName), checkName("Name", p.Name), checkText("Description", p.Description, maxProse),
		checkText("Category", p.Category, maxName), p.checkDomains(), p.checkMoney(),
	}
	if p.ClickDays < 1 || p.ClickDays > 365 {
		errs = append(errs, &ConfigError{"ClickDays", "give 1 to 365 days"})
	}
	if p.Status != ProgramOpen && p.Status != ProgramClosed {
		errs = append(errs, &ConfigError{"Status", "give open or closed"})
	}
	return errors.Join(errs...)
}

func (p *Program) checkDomains() error {
	if len(p.Domains) == 0 {
		return &ConfigError{"Domains", "none, give a domain that the links of the program may lead to"}
	}
	for _, domain := range p.Domains {
		if !isDomain(domain) {
			return &ConfigError{"Domains", fmt.Sprintf(
				"%q is no domain as DNS has it: write it like shop.example, in lower case, without https:// and path, other scripts as xn--...", domain)}
		}
	}
	return nil
}

// isDomain accepts labels of letters, digits and "-", separated by dots.
func isDomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// rateDigits is how many decimal places an exchange rate may have.
const rateDigits = 8

func (p *Program) checkMoney() error {
	var errs []error
	for _, c := range []struct{ field, currency string }{{"Currency", p.Currency}, {"ChargeCurrency", p.ChargeCurrency}} {
		if c.currency != "CNY" && c.currency != "USD" {
			errs = append(errs, &ConfigError{c.field, "give CNY or USD"})
		}
	}
	rate, one := p.ExchangeRate, decimal.NewFromInt(1)
	switch {
	case p.Currency == p.ChargeCurrency && !rate.Equal(one):
		errs = append(errs, &ConfigError{"ExchangeRate", "not 1, although both currencies are the same"})
	case rate.Sign() <= 0 || rate.GreaterThan(decimal.New(1, rateDigits)) || !rate.Equal(rate.Truncate(rateDigits)):
		errs = append(errs, &ConfigError{"ExchangeRate", fmt.Sprintf(
			"give how much 1 %s is in %s: above 0, with at most %d decimal places", p.Currency, p.ChargeCurrency, rateDigits)})
	}
	return errors.Join(errs...)
}

const programQuery = `SELECT p.id, COALESCE(a.name, ''), p.name, p.currency, p.charge_currency, p.exchange_rate, p.click_days,
	p.description, p.category, p.status FROM programs p LEFT JOIN advertisers a ON a.id = p.advertiser_id`

// readProgram reads a row of programQuery: all but the domains.
func readProgram(scan scanner) (Program, error) {
	var p Program
	var rate string
	err := scan(&p.ID, &p.Brand, &p.Name, &p.Currency, &p.ChargeCurrency, &rate, &p.ClickDays, &p.Description, &p.Category, &p.Status)
	if err != nil {
		return Program{}, err
	}
	if p.ExchangeRate, err = decimal.NewFromString(rate); err != nil {
		return Program{}, fmt.Errorf("program %q: exchange_rate is no decimal", p.ID)
	}
	return p, nil
}

// storedProgram reads a program within a change.
func (c *change) storedProgram(ctx context.Context, id string) (Program, error) {
	var p Program
	var text string
	st, err := c.statement(ctx, programQuery+` WHERE p.id = ?`)
	if err != nil {
		return Program{}, err
	}
	if p, err = readProgram(st.QueryRowContext(ctx, id).Scan); err != nil {
		return Program{}, notFound(err, "program", id)
	}
	// No domain holds a space.
	err = c.row(ctx, `SELECT COALESCE(string_agg(domain, ' '), '') FROM program_domains WHERE program_id = ?`, []any{id}, &text)
	p.Domains = strings.Fields(text)
	return p.complete(), err
}

// Programs returns the programs of a brand, of all when the name is "", by brand
// and id. The error wraps [ErrNotFound] for a brand that is not there.
func (s *Service) Programs(ctx context.Context, brand string) ([]Program, error) {
	if err := s.mustKnow(ctx, advertisers, brand); err != nil {
		return nil, err
	}
	programs, err := listOf(ctx, s.store, programQuery+` WHERE COALESCE(a.name, '') = ? OR ? = '' ORDER BY 2, 1`, []any{brand, brand}, readProgram)
	if err != nil {
		return nil, err
	}
	domains, err := listOf(ctx, s.store, `SELECT program_id, domain FROM program_domains ORDER BY program_id, domain`, nil,
		func(scan scanner) (pair [2]string, err error) { return pair, scan(&pair[0], &pair[1]) })
	byProgram := map[string][]string{}
	for _, pair := range domains {
		byProgram[pair[0]] = append(byProgram[pair[0]], pair[1])
	}
	for i := range programs {
		programs[i].Domains = byProgram[programs[i].ID]
	}
	return programs, err
}
