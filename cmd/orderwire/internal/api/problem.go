package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
)

// ProblemError is an error as RFC 9457 has it.
type ProblemError struct {
	Title  string    `json:"title"`            // of the status
	Status int       `json:"status"`           // of HTTP
	Detail string    `json:"detail"`           // what is wrong
	Hint   string    `json:"hint,omitzero"`    // what to do about it
	Errors []Mistake `json:"errors,omitempty"` // in a definition, one by one
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
	if mistakes := mistakesOf(err); len(mistakes) > 0 {
		p := problem(http.StatusUnprocessableEntity, "the definition cannot be used", "put right what errors lists")
		p.Errors = mistakes
		return p
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

// reply writes an answer.
func reply(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller who has gone needs no answer
	return nil
}
