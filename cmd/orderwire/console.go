package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/api"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/console"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/commission"
)

// service returns the HTTP service of a line with its console, and what closes it.
func service(c *config.Config, l *line.Line, log *slog.Logger) (http.Handler, func() error) {
	attempts := func(ctx context.Context, q endpoints.Query) ([]endpoints.Attempt, error) {
		return endpoints.Attempts(ctx, l.Log(), q)
	}
	again := replayer{config: c, line: l, logger: log}
	gate := api.Gate{Token: string(c.HTTP.Token), Listen: c.HTTP.Listen}
	reading := &books{dsn: string(c.Commission.DSN), zone: c.Commission.Zone()}
	shelf := &archived{dir: c.Archive.Sink(nil).Dir}
	pages := console.New(console.Config{
		Line: l, Log: l.Log(), Books: reading.open, Webhooks: l.Endpoints(), Attempts: attempts, Replay: again, Gate: gate, Logger: log,
		Archive: shelf, Zone: c.Commission.Zone(), Zones: zonesOf(c),
	})
	return api.New(api.Config{
		Line: l, Webhooks: l.Endpoints(), Attempts: attempts, Replay: again, Token: gate.Token, Listen: gate.Listen, Console: pages, Logger: log,
	}), func() error { return errors.Join(reading.close(), shelf.close()) }
}

// zonesOf returns the zones of the accounts, by name.
func zonesOf(c *config.Config) map[string]*time.Location {
	zones := make(map[string]*time.Location, len(c.Accounts))
	for i := range c.Accounts {
		if zone, err := time.LoadLocation(c.Accounts[i].TimeZone); err == nil {
			zones[c.Accounts[i].Name] = zone
		}
	}
	return zones
}

// archived reads the archive from when it is there.
type archived struct {
	dir string

	mu     sync.Mutex
	search *archive.Search
}

func (a *archived) open(ctx context.Context) (*archive.Search, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.search != nil {
		return a.search, nil
	}
	s, err := archive.OpenSearch(ctx, a.dir)
	if err == nil {
		a.search = s
	}
	return s, err
}

// Inventory implements [console.Archive].
func (a *archived) Inventory(ctx context.Context) (archive.Inventory, error) {
	s, err := a.open(ctx)
	if err != nil {
		return archive.Inventory{}, err
	}
	return s.Inventory(ctx)
}

// Verified implements [console.Archive].
func (a *archived) Verified(ctx context.Context) (*archive.Verified, error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Verified(ctx)
}

func (a *archived) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.search == nil {
		return nil
	}
	return a.search.Close()
}

// books reads the commission books from when they are there.
type books struct {
	dsn  string
	zone *time.Location

	mu     sync.Mutex
	reader *commission.Reader
}

func (b *books) open(ctx context.Context) (console.Books, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader != nil {
		return b.reader, nil
	}
	r, err := commission.OpenReader(ctx, b.dsn, commission.InZone(b.zone))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, commission.ErrNotBooks) {
		return nil, errNoBooks
	}
	if err != nil {
		return nil, err
	}
	b.reader = r
	return r, nil
}

var errNoBooks = errors.New("there are no commission books yet; they come with the first events")

func (b *books) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader == nil {
		return nil
	}
	return b.reader.Close()
}
