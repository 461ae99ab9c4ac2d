package api

import (
	_ "embed" // the document
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
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

// attempt is an attempt in JSON.
type attempt struct {
	At       time.Time        `json:"at"`
	Duration float64          `json:"duration_seconds"`
	Endpoint string           `json:"endpoint"`
	Account  string           `json:"account"`
	Program  string           `json:"program"`
	Order    string           `json:"order"`
	EventID  string           `json:"event_id"`
	Type     schema.EventType `json:"type"`
	Version  uint64           `json:"version"`
	Sequence uint64           `json:"sequence"`
	Number   int              `json:"number"`
	Outcome  pipeline.Outcome `json:"outcome"`
	Probe    bool             `json:"probe,omitzero"`
	Status   int              `json:"status,omitzero"`
	Reason   string           `json:"reason,omitzero"`
	Answer   string           `json:"answer,omitzero"` // what is no UTF-8 in it replaced
	Next     time.Time        `json:"next,omitzero"`
}

func attemptOf(a *pipeline.Attempt) attempt {
	return attempt{
		At: a.At, Duration: a.Duration.Seconds(), Endpoint: a.Endpoint, Account: a.Key.Account, Program: a.Key.Program, Order: a.Key.OrderSn,
		EventID: a.EventID, Type: a.Type, Version: a.Version, Sequence: a.Sequence, Number: a.Number, Outcome: a.Outcome, Probe: a.Probe,
		Status: a.Status, Reason: a.Reason, Answer: strings.ToValidUTF8(string(a.Answer), "\uFFFD"), Next: a.Next,
	}
}

// attempts searches those of an endpoint, also of one that is there no longer.
func (s *service) attempts(w http.ResponseWriter, r *http.Request) error {
	p := parameters(r, "account", "program", "order", "event", "outcome", "since", "before", "limit")
	q := jetstream.AttemptQuery{
		Endpoint: r.PathValue("name"), Account: p.Get("account"), Program: p.Get("program"), Order: p.Get("order"), EventID: p.Get("event"),
		Outcome: pipeline.Outcome(p.Get("outcome")), Since: p.moment("since"), Before: p.moment("before"), Limit: p.number("limit", fewAttempts, mostAttempts),
	}
	if q.Outcome != "" && !slices.Contains(pipeline.Outcomes(), q.Outcome) {
		p.wrong("there is no such outcome", "there are delivered, failed and given_up")
	}
	if p.err != nil {
		return p.err
	}
	found, err := s.Attempts.SearchAttempts(r.Context(), q)
	if err != nil {
		return err
	}
	all := make([]attempt, len(found))
	for i := range found {
		all[i] = attemptOf(&found[i])
	}
	return reply(w, http.StatusOK, struct {
		Attempts []attempt `json:"attempts"`
	}{all})
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
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	default:
		return nil, problem(http.StatusTooManyRequests, "another report is being made at this moment", "try again when it is there")
	}
	return s.Webhooks.Owed(r.Context(), name, nil)
}
