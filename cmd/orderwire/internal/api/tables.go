package api

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
)

// paramFormat chooses the form of an answer; the header Accept does, too.
const paramFormat = "format"

// tabular reads the parameters of an operation that answers with a table, and in
// which form.
func tabular(r *http.Request, names ...string) *query {
	p := parameters(r, append(slices.Clone(names), paramFormat)...)
	switch form := p.Get(paramFormat); form {
	case "csv":
		p.csv = true
	case "":
		p.csv = prefersCSV(r)
	case "json":
	default:
		p.wrong("there is no format "+strconv.Quote(form), "there are json and csv")
	}
	return p
}

// prefersCSV reads the header Accept.
func prefersCSV(r *http.Request) bool {
	quality := func(kind string) float64 {
		best := -1.0
		for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
			given, options, err := mime.ParseMediaType(part)
			if err != nil || given != kind {
				continue
			}
			q, err := strconv.ParseFloat(options["q"], 64)
			if err != nil {
				q = 1
			}
			best = max(best, q)
		}
		return best
	}
	return quality("text/csv") > max(quality("application/json"), 0)
}

// table answers with a table: as CSV, or as what it is in JSON.
func table(w http.ResponseWriter, p *query, name string, t *report.Table, document any) error {
	if !p.csv {
		return reply(w, http.StatusOK, document)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	_ = t.WriteCSV(w) // a caller who has gone needs no answer
	return nil
}

// rows is a report of the books in JSON.
type rows struct {
	Rows any `json:"rows"`
}

// report returns the operation of a report of the books.
func (s *service) report(one report.Report) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := tabular(r, one.Takes...)
		q := report.Query{Rates: s.Rates, Networks: s.Networks, Now: s.now()}
		for _, name := range one.Takes {
			if to := q.Field(name); to != nil {
				*to = p.Get(name)
			}
		}
		if by := p.Get("by"); by != "" {
			q.Group = strings.Split(by, ",")
		}
		if p.err != nil {
			return p.err
		}
		t, err := s.read(r.Context(), one, &q)
		if err != nil {
			return err
		}
		if t.List {
			return table(w, p, one.Name, t, rows{t.Value})
		}
		return table(w, p, one.Name, t, t.Value)
	}
}

func (s *service) read(ctx context.Context, one report.Report, q *report.Query) (*report.Table, error) {
	books, err := s.Books(ctx)
	if err != nil {
		return nil, err
	}
	return one.Read(ctx, books, q)
}

// reply writes an answer.
func reply(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller who has gone needs no answer
	return nil
}
