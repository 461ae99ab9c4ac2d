package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
)

// ProblemError is an error as RFC 9457 has it.
type ProblemError struct {
	Title  string    `json:"title"`            // of the status
	Status int       `json:"status"`           // of HTTP
	Detail string    `json:"detail"`           // what is wrong
	Hint   string    `json:"hint,omitzero"`    // what to do about it
	Errors []Mistake `json:"errors,omitempty"` // in a definition, one by one
	// Rate is the exchange rate that is missing.
	Rate *MissingRate `json:"rate,omitzero"`
}

// MissingRate is an exchange rate that a report needs and does not find.
type MissingRate struct {
	Day  string `json:"day"` // "" for orders without a readable day
	From string `json:"from"`
	To   string `json:"to"`
}

// Mistake is what is wrong with a part of a request.
type Mistake struct {
	Field  string `json:"field,omitzero"` // url, events[1]
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitzero"`
}

// Error says what and what to do.
func (p *ProblemError) Error() string {
	if p.Hint == "" {
		return p.Detail
	}
	return p.Detail + "; " + p.Hint
}

func problem(status int, detail, hint string) *ProblemError {
	return &ProblemError{Title: http.StatusText(status), Status: status, Detail: detail, Hint: hint}
}

func (p *ProblemError) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a caller who has gone needs no answer
}

// known are the errors that say enough themselves.
var known = []struct {
	err    error
	status int
	hint   string
}{
	{endpoints.ErrUnknown, http.StatusNotFound, "GET /api/v1/webhooks lists the endpoints"},
	{endpoints.ErrExists, http.StatusConflict, "choose another name, or remove the endpoint first"},
	{endpoints.ErrFromFile, http.StatusConflict, "change it there, and start the process again"},
	{endpoints.ErrBusy, http.StatusConflict, "try again in a minute"},
	{endpoints.ErrNotRunning, http.StatusConflict, "try again when a process runs that has the endpoint"},
	{pipeline.ErrNotParked, http.StatusConflict, "nothing has to be done for it"},
	{endpoints.ErrStart, http.StatusUnprocessableEntity, "leave start out to begin with the next event"},
	{report.ErrNoBooks, http.StatusServiceUnavailable, "ask again when there are events"},
	{report.ErrNoRates, http.StatusUnprocessableEntity, "leave in out for each currency by itself"},
	{archive.ErrNoArchive, http.StatusServiceUnavailable, "it begins with the first events, where the process writes one"},
}

// problemOf says of an error what the caller can do about it; nil when nothing.
func problemOf(err error) *ProblemError {
	var p *ProblemError
	if errors.As(err, &p) {
		return p
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return problem(k.status, err.Error(), k.hint)
		}
	}
	if p := booksProblem(err); p != nil {
		return p
	}
	if mistakes := mistakesOf(err); len(mistakes) > 0 {
		p := problem(http.StatusUnprocessableEntity, "the definition cannot be used", "put right what errors lists")
		p.Errors = mistakes
		return p
	}
	return nil
}

// booksProblem is what the commission books say about a request.
func booksProblem(err error) *ProblemError {
	var filter *commission.FilterError
	var rate *commission.RateError
	var month *commission.MonthError
	var network *report.NetworkError
	switch {
	case errors.As(err, &filter):
		return malformed(filter.Field+" "+filter.Problem, "see /api/v1/openapi.yaml")
	case errors.As(err, &rate) && rate.Line == 0:
		p := problem(http.StatusUnprocessableEntity, rate.Error(), "the operator adds it to the file that commission.rates names")
		p.Rate = &MissingRate{Day: rate.Day, From: rate.From, To: rate.To}
		return p
	case errors.As(err, &rate):
		return problem(http.StatusInternalServerError, rate.Error(), "the operator puts the file right that commission.rates names")
	case errors.As(err, &network):
		return problem(http.StatusBadGateway, network.Error(), "networks need not count clicks for publishers; that of `orderwire network` does")
	case errors.As(err, &month):
		return problem(http.StatusConflict, "month "+month.Month+" "+month.Problem, month.Hint)
	}
	return nil
}

// mistakesOf takes joined mistakes of a configuration apart.
func mistakesOf(err error) []Mistake {
	switch e := err.(type) { //nolint:errorlint // the tree is walked: each of what was joined is wanted
	case *config.Error:
		return []Mistake{{Field: e.Path, Detail: e.What, Hint: e.Hint}}
	case interface{ Unwrap() error }:
		return mistakesOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []Mistake
		for _, one := range e.Unwrap() {
			all = append(all, mistakesOf(one)...)
		}
		return all
	}
	return nil
}

// answer runs an operation and writes its error.
func (s *service) answer(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		err := r.handle(w, req)
		if err == nil || req.Context().Err() != nil {
			return
		}
		p := problemOf(err)
		if p == nil {
			s.Logger.Error("a request failed", "method", r.method, "path", r.path, "error", err)
			p = problem(http.StatusServiceUnavailable, err.Error(), "try again; the log of this process says more")
		}
		p.write(w)
	})
}
