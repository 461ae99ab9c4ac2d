package api

import (
	_ "embed" // the document
	"net/http"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
)

// fewAttempts and mostAttempts are how many attempts an answer has, unless it is
// asked for another number, and at most.
const (
	fewAttempts  = 100
	mostAttempts = 1000
)

//go:embed openapi.yaml
var openapi []byte

func (s *service) document(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openapi) // a caller who has gone needs no answer
	return nil
}

func (s *service) status(w http.ResponseWriter, r *http.Request) error {
	status, err := s.Line.Status(r.Context())
	if err != nil {
		s.Logger.Warn("no status", "error", err)
		return problem(http.StatusServiceUnavailable, "the log does not answer", "try again; the log of this process says more")
	}
	return reply(w, http.StatusOK, status)
}

// attempts searches those of an endpoint, also of one that is there no longer.
func (s *service) attempts(w http.ResponseWriter, r *http.Request) error {
	p := parameters(r, "account", "program", "order", "event", "outcome", "since", "before", "limit", "answer")
	q := endpoints.Query{
		Endpoint: r.PathValue("name"), Account: p.Get("account"), Program: p.Get("program"), Order: p.Get("order"), Event: p.Get("event"),
		Outcome: p.Get("outcome"), Since: p.moment("since"), Before: p.moment("before"), Limit: p.number("limit", fewAttempts, mostAttempts),
		Answers: p.truth("answer"),
	}
	if p.err != nil {
		return p.err
	}
	if err := q.Check(); err != nil {
		return malformed(err.Error(), "see /api/v1/openapi.yaml")
	}
	all, err := s.Attempts(r.Context(), q)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		Attempts []endpoints.Attempt `json:"attempts"`
	}{some(all)})
}

func (s *service) owedAll(w http.ResponseWriter, r *http.Request) error {
	all, err := s.count(r, "")
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		Webhooks []endpoints.Owed `json:"webhooks"`
	}{some(all)})
}

func (s *service) owed(w http.ResponseWriter, r *http.Request) error {
	all, err := s.count(r, r.PathValue("name"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, all[0])
}

// count makes a report, one at a time: it reads the log from the oldest event on
// that can be owed.
func (s *service) count(r *http.Request, name string) ([]endpoints.Owed, error) {
	if err := parameters(r).err; err != nil {
		return nil, err
	}
	done, err := s.alone()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.Webhooks.Owed(r.Context(), name, nil)
}

// alone lets one through at a time, for what reads much.
func (s *service) alone() (done func(), err error) {
	select {
	case s.counting <- struct{}{}:
		return func() { <-s.counting }, nil
	default:
		return nil, problem(http.StatusTooManyRequests, "another report is being made at this moment", "try again when it is there")
	}
}
