package network

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// programData is a program in an answer. The list has all but Rates.
type programData struct {
	ProgramID      string     `json:"ProgramId"`
	ProgramName    string     `json:",omitempty"`
	Description    string     `json:",omitempty"`
	Category       string     `json:",omitempty"`
	Status         string     // open or closed
	Domains        []string   // where its links may lead, in order
	Currency       string     // of the estimates
	ChargeCurrency string     // of the confirmed amounts
	ClickDays      string     // how long a click is good for an order
	Rates          []rateData `json:",omitzero"`
}

// rateData is the commission of a category, CateId is absent for all others.
type rateData struct {
	CateID string `json:"CateId,omitempty"`
	Kind   string // percent or fixed
	Value  string // percent of the amount, or an amount in Currency for each item; two decimals
}

// shownPrograms reads what programData holds, but the rates. No domain has a
// space in it.
const shownPrograms = `SELECT p.id, p.name, p.description, p.category, p.status, p.currency, p.charge_currency, p.click_days,
	COALESCE((SELECT string_agg(d.domain, ' ') FROM program_domains d WHERE d.program_id = p.id), '') FROM programs p`

func scanProgram(row scan) (programData, error) {
	var p programData
	var days int64
	var domains string
	err := row(&p.ProgramID, &p.ProgramName, &p.Description, &p.Category, &p.Status, &p.Currency, &p.ChargeCurrency, &days, &domains)
	p.ClickDays, p.Domains = strconv.FormatInt(days, 10), strings.Fields(domains)
	slices.Sort(p.Domains)
	return p, err
}

// queryPrograms answers programs.query.get: the open programs for a publisher,
// and its own ones, closed ones too, for an advertiser.
func (s *Service) queryPrograms(ctx context.Context, by caller, f *form, b []byte) ([]byte, error) {
	q := &selection{paging: parsePaging(f), query: shownPrograms + " WHERE p.status = 'open'", order: "1"}
	if by.advertiser != 0 {
		q.query, q.args = shownPrograms+" WHERE p.advertiser_id = ?", []any{by.advertiser}
	}
	q.equal("p.category", f.text("Category"))
	if word := f.text("Keyword"); word != "" {
		// The database lowers both sides, SQLite only a to z.
		const like = " LIKE LOWER(CAST(? AS TEXT)) ESCAPE '!'"
		pattern := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(word) + "%"
		q.where("(LOWER(p.name)"+like+" OR LOWER(p.description)"+like+")", pattern, pattern)
	}
	if f.err != nil {
		return nil, f.err
	}
	return s.store.page(ctx, q, b, func(row scan) (any, error) { return scanProgram(row) })
}

const ratesQuery = `SELECT category, kind, value FROM commission_rates WHERE program_id = ? ORDER BY category`

// programDetail answers programs.detail.get, for a program of any status: the
// publisher may have orders of one that is closed.
func (s *Service) programDetail(ctx context.Context, _ caller, f *form, b []byte) ([]byte, error) {
	id := f.required("ProgramId")
	if f.err != nil {
		return nil, f.err
	}
	program, err := s.store.statement(ctx, shownPrograms+" WHERE p.id = ?")
	if err != nil {
		return nil, err
	}
	rates, err := s.store.statement(ctx, ratesQuery)
	if err != nil {
		return nil, err
	}
	var p programData
	err = s.store.snapshot(ctx, func(tx *sql.Tx) (err error) {
		if p, err = scanProgram(program.in(ctx, tx).QueryRowContext(ctx, id).Scan); err == nil {
			p.Rates, err = readRates(ctx, rates.in(ctx, tx), id)
		}
		return err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refuse(StatusNotFound, "ProgramId: there is no such program")
	case err != nil:
		return nil, fmt.Errorf("read a program: %w", err)
	}
	data, err := json.Marshal(p)
	return append(b, data...), err
}

// readRates reads the rates of a program; there may be none.
func readRates(ctx context.Context, st prepared, program string) ([]rateData, error) {
	rows, err := st.QueryContext(ctx, program)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []rateData{}
	for rows.Next() {
		var r rateData
		var value cents
		if err := rows.Scan(&r.CateID, &r.Kind, &value); err != nil {
			return nil, err
		}
		r.Value = value.money().String()
		all = append(all, r)
	}
	return all, rows.Err()
}
