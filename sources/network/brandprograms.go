package network

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// brandProgram is a program as its brand sees it.
type brandProgram struct {
	ID             string   `json:"ProgramId"`
	Name           string   `json:"ProgramName"`
	Description    string   `json:"Description,omitzero"`
	Category       string   `json:"Category,omitzero"`
	Status         string   `json:"Status"` // open or closed
	Domains        []string `json:"Domains"`
	Currency       string   `json:"Currency"`
	ChargeCurrency string   `json:"ChargeCurrency"`
	ClickDays      string   `json:"ClickDays"`
}

// brandProgramList is the Data of programs.query.get for a brand.
type brandProgramList struct {
	List     []brandProgram
	Total    int64
	Page     int64
	PageSize int64
}

// brandPrograms answers programs.query.get for a brand, an operation of our
// own: its programs, the closed ones too. A brand has few, so they are filtered
// here.
func (s *Service) brandPrograms(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	category, keyword := f.text("Category"), strings.ToLower(f.text("Keyword"))
	page, size := f.integer("Page", 1, 1, maxInteger), f.integer("PageSize", DefaultPageSize, 1, MaxPageSize)
	if f.err != nil {
		return nil, f.err
	}
	all, err := s.programsOf(ctx, by.advertiser)
	if err != nil {
		return nil, err
	}
	var match []brandProgram
	for _, p := range all {
		text := strings.ToLower(p.Name + "\n" + p.Description)
		if (category == "" || p.Category == category) && strings.Contains(text, keyword) {
			match = append(match, p)
		}
	}
	total := int64(len(match))
	from := min(min(page-1, total)*size, total)
	data := brandProgramList{match[from:min(from+size, total)], total, page, size}
	raw, err := json.Marshal(data)
	return append(b, raw...), err
}

// programsOf reads the programs of an advertiser with their domains.
func (s *Service) programsOf(ctx context.Context, advertiser int64) ([]brandProgram, error) {
	st, err := s.store.statement(ctx, `SELECT p.id, p.name, p.description, p.category, p.status, p.currency, p.charge_currency,
		p.click_days, COALESCE(d.domain, '') FROM programs p LEFT JOIN program_domains d ON d.program_id = p.id
		WHERE p.advertiser_id = ? ORDER BY LENGTH(p.id), p.id, d.domain`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx, advertiser)
	if err != nil {
		return nil, fmt.Errorf("programs of a brand: %w", err)
	}
	defer rows.Close()
	var all []brandProgram
	for rows.Next() {
		var p brandProgram
		var days int64
		var domain string
		err := rows.Scan(&p.ID, &p.Name, &p.Description, &p.Category, &p.Status, &p.Currency, &p.ChargeCurrency, &days, &domain)
		if err != nil {
			return nil, fmt.Errorf("programs of a brand: %w", err)
		}
		p.ClickDays = strconv.FormatInt(days, 10)
		if n := len(all); n == 0 || all[n-1].ID != p.ID {
			all = append(all, p)
		}
		if domain != "" {
			last := &all[len(all)-1]
			last.Domains = append(last.Domains, domain)
		}
	}
	return all, rows.Err()
}
