package poller

import (
	"context"
	"log/slog"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sources/openapi"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Account says which orders to poll, and how. Zero fields get the defaults of
// the network facts.
type Account struct {
	// Name of the account, part of every key. Required.
	Name string
	// Location is the zone of the network's time texts; nil means Asia/Shanghai.
	Location *time.Location
	// OrderField is what a window filters: UpdateTime (default), ChargeTime or
	// OrderDatatime (creation; the network's spelling).
	OrderField string
	// Every is the pause between two polls; 0 means 1 minute.
	Every time.Duration
	// Overlap is how far a poll reaches back before the end of the last one; 0
	// means 10 minutes.
	Overlap time.Duration
	// Backfill is how far back the first poll begins, and how long orders are
	// followed where only creation time can be filtered; 0 means 90 days.
	Backfill time.Duration
	// MaxSpan is the longest window that the network accepts; 0 means 24 h.
	MaxSpan time.Duration
	// PageSize is the number of records asked for in a page; 0 means 200.
	PageSize int
}

func (a Account) withDefaults() Account {
	if a.Location == nil {
		a.Location = time.FixedZone("Asia/Shanghai", 8*60*60)
	}
	if a.OrderField == "" {
		a.OrderField = UpdateTime
	}
	defaultDuration(&a.Every, time.Minute)
	defaultDuration(&a.Overlap, 10*time.Minute)
	defaultDuration(&a.Backfill, 90*24*time.Hour)
	defaultDuration(&a.MaxSpan, 24*time.Hour)
	if a.PageSize == 0 {
		a.PageSize = 200
	}
	return a
}

func defaultDuration(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}

// Network is the part of the signed client that a poll uses.
type Network interface {
	// Orders returns one page of a window.
	Orders(ctx context.Context, q openapi.OrdersQuery) (openapi.OrdersPage, error)
	// Order returns one order with its lines; the error wraps
	// [openapi.ErrNotFound] when the network does not know it.
	Order(ctx context.Context, programID, orderSn string) (openapi.OrderAnswer, error)
}

// Log is the part of the order log that a poll uses.
type Log interface {
	// LoadIndex brings what is kept in memory of the orders up to date with what
	// other writers have stored.
	LoadIndex(ctx context.Context) error
	// Lookup returns what is kept in memory of the order whose key has this text
	// (see [schema.OrderKey.String]); it may be outdated until publishing says so.
	Lookup(key []byte) (pipeline.Known, bool)
	// Touch notes that a record with this hash is no change from a version.
	Touch(key schema.OrderKey, version, content uint64)
	// Load asks the log itself for an order's last event. The error wraps
	// [pipeline.ErrPoison] when that is unreadable.
	Load(ctx context.Context, key schema.OrderKey) (pipeline.State, error)
	// Recall is Load, except that its answer may be as outdated as Lookup's.
	Recall(ctx context.Context, key schema.OrderKey) (pipeline.State, error)
	// Bury stores a record that is no readable order.
	Bury(ctx context.Context, d pipeline.DeadLetter) error
	pipeline.CursorStore
	// LoadCoverage reads what SaveCoverage stored of a window, false for none.
	LoadCoverage(ctx context.Context, name string, v any) (bool, error)
	// SaveCoverage stores a closed window.
	SaveCoverage(ctx context.Context, name string, v any) error
}

// Config puts a poller together. All but Logger, Tracer and Now is required.
type Config struct {
	Account   Account
	Network   Network
	Log       Log
	Publisher message.Publisher
	// Logger gets failures and warnings. Nil discards them.
	Logger *slog.Logger
	// Tracer begins a span for each poll, each request and each publication. Nil: none.
	Tracer trace.Tracer
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.Account = c.Account.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Tracer == nil {
		c.Tracer = noop.Tracer{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}
