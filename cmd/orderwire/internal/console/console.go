// Package console shows the line to a person: pages made on the server, which work
// without JavaScript, beside the HTTP service of package api.
//
// Without a token the pages are for this machine alone, as that service is. With
// one, a person gives it once on the login page and has a session for some hours.
// Changes are forms with a token of the session, and are refused to pages of other
// origins. Every text of an order, an endpoint or a person is escaped by
// html/template; no page has a script or a style of its own, and none is loaded
// from elsewhere.
package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
)

// Config says what is shown, and to whom.
type Config struct {
	// Line tells how this process's part of the line is. Required.
	Line Line
	// Log holds the events. Required.
	Log Log
	// Books returns the commission books, which stay the caller's; an error when
	// they are not there yet. Required.
	Books func(ctx context.Context) (Books, error)
	// Webhooks manages the endpoints. Required.
	Webhooks Webhooks
	// Attempts searches the attempt log. Required.
	Attempts func(ctx context.Context, q endpoints.Query) ([]endpoints.Attempt, error)
	// Replay delivers events again. Required.
	Replay api.Replayer
	// Archive tells what the archive holds. Nil: there is none.
	Archive Archive
	// Zone is that of the books' days and months. Nil means UTC.
	Zone *time.Location
	// Zones are those of the accounts, by name; an account without one is shown in UTC.
	Zones map[string]*time.Location
	// Gate says who may ask.
	Gate api.Gate
	// Logger gets failures that are not the visitor's. Nil discards them.
	Logger *slog.Logger
}

// Line is a process's part of the line.
type Line interface {
	Status(ctx context.Context) (line.Status, error)
}

// Log is what the pages read of the log; see [jetstream.Log].
type Log interface {
	// Next returns an order's first event from a sequence on.
	Next(ctx context.Context, key schema.OrderKey, from uint64) (schema.Entry, bool, error)
	// Load returns an order's last event, also when it has aged out.
	Load(ctx context.Context, key schema.OrderKey) (pipeline.State, error)
	// CountDead counts the dead letters of a sink or an endpoint.
	CountDead(ctx context.Context, sink string) (uint64, error)
	// NewestDead returns dead letters from the newest backwards.
	NewestDead(ctx context.Context, sink string, before uint64, limit int) ([]pipeline.Buried, uint64, error)
	// SequenceAt returns the sequence of the first event stored at a time or later.
	SequenceAt(ctx context.Context, at time.Time) (uint64, error)
	// ReadCoverage hands over the windows that were closed behind a place.
	ReadCoverage(ctx context.Context, behind uint64, take func(account string, window []byte) error) (uint64, error)
}

// Books is the reading side of the commission books.
type Books interface {
	Sums
	Ledger
	// Drill returns the orders behind a sum.
	Drill(ctx context.Context, d commission.Drill) (*commission.Drilled, error)
}

// Sums are what orders add up to.
type Sums interface {
	Report(ctx context.Context, f commission.Filter) ([]commission.Sum, error)
	Earnings(ctx context.Context, q commission.Query) ([]commission.Earned, error)
	Ageing(ctx context.Context, f commission.Filter, today string) ([]commission.Aged, error)
	Overdue(ctx context.Context, f commission.Filter, today string) ([]commission.Overdue, error)
	Reversals(ctx context.Context, f commission.Filter) ([]commission.Reversal, error)
	EstimatedAndConfirmed(ctx context.Context, f commission.Filter) ([]commission.Settled, error)
}

// Ledger is what was posted.
type Ledger interface {
	Months(ctx context.Context) ([]commission.Month, error)
	Statement(ctx context.Context, month, account string) (*commission.Statement, error)
	CheckMonth(ctx context.Context, month string) (*commission.Closing, error)
	Posted(ctx context.Context, f commission.PostingFilter) (*commission.Posted, error)
}

// Archive is the reading side of the archive.
type Archive interface {
	// Inventory returns what the manifest says.
	Inventory(ctx context.Context) (archive.Inventory, error)
	// Verified returns the note of the last verification, nil when there is none.
	Verified(ctx context.Context) (*archive.Verified, error)
}

// Webhooks shows endpoints and changes whether they are sent anything.
type Webhooks interface {
	api.Catalogue
	Pause(ctx context.Context, name, reason string) error
	Resume(ctx context.Context, name string) error
	Test(ctx context.Context, name string) (endpoints.TestResult, error)
}

// console answers the requests.
type console struct {
	Config
	sessions *sessions
	now      func() time.Time
	coverage *coverage
	pace     *pace
	shelf    *shelf        // nil without an archive
	checking chan struct{} // holds a token while a month is checked
}

// New returns the handler of all pages.
func New(cfg Config) http.Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	c := &console{Config: cfg, sessions: newSessions(), now: time.Now, coverage: newCoverage(cfg.Log), checking: make(chan struct{}, 1)}
	c.pace = newPace(cfg.Log, c.now)
	if cfg.Archive != nil {
		c.shelf = newShelf(cfg.Archive)
	}
	inside := http.NewServeMux()
	for pattern, handle := range map[string]handler{
		"GET /{$}":                     c.overview,
		"GET /orders":                  c.orders,
		"GET /orders/{key}":            c.order,
		"GET /webhooks":                c.webhooks,
		"GET /webhooks/{name}":         c.webhook,
		"POST /webhooks/{name}/pause":  c.pause,
		"POST /webhooks/{name}/resume": c.resume,
		"POST /webhooks/{name}/test":   c.test,
		"POST /webhooks/{name}/replay": c.replay,
		"GET /accounts":                c.accounts,
		"GET /archive":                 c.archive,
		"GET /archive/files":           c.archiveFiles,
		"GET /ledger":                  c.ledger,
		"POST /ledger/check":           c.checkMonth,
		"GET /ledger/postings":         c.postings,
		"GET /ledger/earnings":         c.earnings,
		"GET /ledger/waiting":          c.waiting,
		"GET /ledger/programs":         c.programs,
		"GET /deadletters":             c.deadLetters,
		"POST /zone":                   c.setZone,
		"POST /logout":                 c.logout,
		"/":                            c.nowhere,
	} {
		inside.Handle(pattern, c.answer(handle))
	}
	outside := http.NewServeMux()
	outside.Handle("GET /assets/", http.HandlerFunc(serveAsset))
	outside.Handle("GET /login", c.answer(c.loginPage))
	outside.Handle("POST /login", c.answer(c.login))
	outside.Handle("/", c.inSession(inside))
	return c.guarded(outside)
}

// handler answers a request, or says what is wrong.
type handler func(w http.ResponseWriter, r *http.Request) error

// pageError is an error for the visitor.
type pageError struct {
	status int
	text   string
}

// Error returns the text.
func (e *pageError) Error() string { return e.text }

// wrong returns an error that the visitor has made.
func wrong(text string) error { return &pageError{http.StatusBadRequest, text} }

func (c *console) nowhere(http.ResponseWriter, *http.Request) error {
	return &pageError{http.StatusNotFound, "There is no such page."}
}

// answer runs a handler and shows its error as a page.
func (c *console) answer(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := handle(w, r)
		if err == nil || r.Context().Err() != nil {
			return
		}
		var p *pageError
		switch {
		case errors.As(err, &p):
		case errors.Is(err, endpoints.ErrUnknown):
			p = &pageError{http.StatusNotFound, err.Error()}
		default:
			c.Logger.Error("a page failed", "method", r.Method, "path", r.Pattern, "error", err)
			p = &pageError{http.StatusServiceUnavailable, "This cannot be shown at present: " + err.Error()}
		}
		c.fail(w, r, p)
	})
}

func (c *console) fail(w http.ResponseWriter, r *http.Request, p *pageError) {
	c.show(w, r, p.status, "error", page{Title: http.StatusText(p.status), Body: p.text})
}
