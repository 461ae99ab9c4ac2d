// Package api answers over HTTP: how a process's part of the line is, its metrics,
// the management of webhooks, the reports of the commission books and the closing of
// their months, orders with their events, dead letters and the archive. The document
// of it is openapi.yaml, which it serves itself.
//
// Whoever may read may change, so there is one token. Without one the service is
// for this machine alone: then requests must name it by a loopback name or address,
// or by the address that is configured, so that no web page gets through by a name
// of its own that resolves to 127.0.0.1. Changes are refused to pages of other
// origins in any case.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/metrics"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/commission"
)

// Config says what is served, and to whom.
type Config struct {
	// Line tells how this process's part of the line is. Required.
	Line Line
	// Webhooks manages the endpoints. Required.
	Webhooks Manager
	// Attempts searches the attempt log. Required.
	Attempts func(ctx context.Context, q endpoints.Query) ([]endpoints.Attempt, error)
	// Replay delivers events again. Required.
	Replay Replayer
	// Log holds the events and the dead letters. Required.
	Log Log
	// Books returns the commission books, which stay the caller's. The error wraps
	// [report.ErrNoBooks] when there are none yet. Required.
	Books func(ctx context.Context) (*commission.Reader, error)
	// CloseMonth closes a month of them, see [report.CloseMonth]. Required.
	CloseMonth func(ctx context.Context, month string) (*commission.Closing, error)
	// Rates reads the exchange rates for reports; nil: there are none.
	Rates func() (*commission.Rates, error)
	// Networks are asked for clicks.
	Networks []report.Network
	// Zone is that of the books' days; nil means UTC.
	Zone *time.Location
	// Archive reads what the archive holds, see [report.ArchiveAt]. Required.
	Archive func(ctx context.Context) (*report.Archive, error)
	// Gate says who may ask.
	Gate Gate
	// Console answers for everything outside of /api/v1, /metrics and the probes, and
	// guards itself. Nil: nothing is there.
	Console http.Handler
	// Logger gets failures that are not the caller's. Nil discards them.
	Logger *slog.Logger
}

// Line is a process's part of the line.
type Line interface {
	metrics.Source
	// Ready returns why this process cannot do its work, nothing when it can.
	Ready(ctx context.Context) []line.Trouble
	// Alive returns which of its loops have ended or hang, nothing when all go on.
	Alive(ctx context.Context) []line.Trouble
}

// Log is what is read of the log; see [jetstream.Log].
type Log interface {
	report.Events
	report.DeadLetters
}

// Manager lists and changes endpoints; see [endpoints.Manager] for the errors.
type Manager interface {
	Catalogue
	Editor
	Operator
}

// Catalogue shows endpoints.
type Catalogue interface {
	List(ctx context.Context) ([]endpoints.View, error)
	Get(ctx context.Context, name string) (endpoints.View, error)
	// Owed reports what one endpoint is owed, or with "" what all are. step is nil.
	Owed(ctx context.Context, name string, step func(done, total int64)) ([]endpoints.Owed, error)
}

// Editor changes which endpoints there are, and how they sign. A secret that is
// returned is never shown again.
type Editor interface {
	Add(ctx context.Context, d endpoints.Definition, start endpoints.Start) (endpoints.Secret, error)
	Remove(ctx context.Context, name string) error
	Rotate(ctx context.Context, name string, o endpoints.RotateOptions) (endpoints.Secret, error)
}

// Operator changes whether and what endpoints are sent.
type Operator interface {
	Pause(ctx context.Context, name, reason string) error
	Resume(ctx context.Context, name string) error
	Test(ctx context.Context, name string) (endpoints.TestResult, error)
	Release(ctx context.Context, name string, key schema.OrderKey, skip bool) error
}

// route is an operation of the service.
type route struct {
	method, path string
	handle       func(w http.ResponseWriter, r *http.Request) error
}

// service answers the requests.
type service struct {
	Config
	counting chan struct{} // holds a token while a report of what is owed is made
}

// The paths outside of /api/v1, which the document has as well. The probes are
// answered to anybody.
const (
	healthPath  = "/healthz"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
)

// New returns the handler of the whole service.
func New(c Config) http.Handler {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &service{Config: c, counting: make(chan struct{}, 1)}
	inside := http.NewServeMux()
	for _, r := range s.routes() {
		inside.Handle(r.method+" "+r.path, s.answer(r))
	}
	inside.Handle("GET "+metricsPath, metrics.Handler(c.Line, c.Logger))
	inside.HandleFunc("/", s.nowhere(inside))

	outside := http.NewServeMux()
	outside.HandleFunc("GET "+healthPath, probe(c.Line.Alive))
	outside.HandleFunc("GET "+readyPath, probe(c.Line.Ready))
	if c.Console == nil {
		outside.Handle("/", s.guarded(inside))
		return secured(outside)
	}
	outside.Handle("/api/", s.guarded(inside))
	outside.Handle(metricsPath, s.guarded(inside))
	outside.Handle("/", c.Console)
	return secured(outside)
}

// routes are the operations under /api/v1; the document has each of them.
func (s *service) routes() []route {
	const webhooks, one, month = "/api/v1/webhooks", "/api/v1/webhooks/{name}", "/api/v1/months/{month}"
	all := []route{
		{http.MethodGet, "/api/v1/status", s.status},
		{http.MethodGet, "/api/v1/openapi.yaml", s.document},
		{http.MethodGet, "/api/v1/owed", s.owedAll},
		{http.MethodGet, webhooks, s.list},
		{http.MethodPost, webhooks, s.add},
		{http.MethodGet, one, s.get},
		{http.MethodDelete, one, s.remove},
		{http.MethodPost, one + "/pause", s.pause},
		{http.MethodPost, one + "/resume", s.resume},
		{http.MethodPost, one + "/rotate", s.rotate},
		{http.MethodPost, one + "/test", s.test},
		{http.MethodPost, one + "/release", s.release},
		{http.MethodGet, one + "/attempts", s.attempts},
		{http.MethodGet, one + "/owed", s.owed},
		{http.MethodPost, one + "/replay", s.replay},
		{http.MethodGet, "/api/v1/orders", s.orders},
		{http.MethodGet, "/api/v1/orders/{key}", s.order},
		{http.MethodGet, "/api/v1/dead-letters", s.deadLetters},
		{http.MethodGet, "/api/v1/archive", s.archive},
		{http.MethodGet, month + "/check", s.checkMonth},
		{http.MethodPost, month + "/close", s.closeMonth},
	}
	for _, r := range report.All() {
		all = append(all, route{http.MethodGet, "/api/v1/reports/" + r.Name, s.report(r)})
	}
	return all
}

// now is the present time in the zone of the books.
func (s *service) now() time.Time {
	if s.Zone == nil {
		return time.Now().UTC()
	}
	return time.Now().In(s.Zone)
}
