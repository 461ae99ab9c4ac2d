package api

import (
	"errors"
	"net/http"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/sinks/commission"
)

// checkMonth holds a closed month to what was kept of it.
func (s *service) checkMonth(w http.ResponseWriter, r *http.Request) error {
	p := tabular(r)
	if p.err != nil {
		return p.err
	}
	t, err := s.read(r.Context(), *report.Find(report.Statement), &report.Query{Month: r.PathValue("month"), Check: true, Now: s.now()})
	if err != nil {
		return err
	}
	return table(w, p, "closing", t, t.Value)
}

// closeMonth closes a month. One that was closed already is answered as it was then,
// so that a request can be sent again.
func (s *service) closeMonth(w http.ResponseWriter, r *http.Request) error {
	if err := read(w, r, &struct{}{}); err != nil {
		return err
	}
	ctx, month := r.Context(), r.PathValue("month")
	books, err := s.Books(ctx)
	if err != nil {
		return err
	}
	closing, err := s.CloseMonth(ctx, month)
	var refused *commission.MonthError
	if errors.As(err, &refused) {
		before, failed := books.Statement(ctx, month, "")
		if failed == nil && before.Closing != nil {
			return reply(w, http.StatusOK, before.Closing)
		}
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, closing)
}
