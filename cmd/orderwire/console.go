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
	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/sinks/commission"
)

// service returns the HTTP service of a line with its console, and what closes it.
func service(c *config.Config, l *line.Line, log *slog.Logger) (http.Handler, func() error) {
	attempts := func(ctx context.Context, q endpoints.Query) ([]endpoints.Attempt, error) {
		return endpoints.Attempts(ctx, l.Log(), q)
	}
	again := replayer{config: c, line: l, logger: log}
	gate := api.Gate{
		Token: string(c.HTTP.Token), Listen: c.HTTP.Listen, Header: c.HTTP.Proxy.Header, Proxies: c.HTTP.Proxy.Addresses(),
	}
	reading := &books{dsn: string(c.Commission.DSN), zone: c.Commission.Zone()}
	shelf := &archived{dir: c.Archive.Sink(nil).Dir}
	pages := console.New(console.Config{
		Line: l, Log: l.Log(), Books: reading.open, Webhooks: l.Endpoints(), Attempts: attempts, Replay: again, Gate: gate, Logger: log,
		Archive: shelf, Zone: c.Commission.Zone(), Zones: zonesOf(c),
	})
	return api.New(api.Config{
		Line: l, Webhooks: l.Endpoints(), Attempts: attempts, Replay: again, Log: l.Log(),
		Books: reading.read, Rates: report.RatesIn(c.Commission.Rates), Networks: report.NetworksOf(c, log), Zone: reading.zone,
		CloseMonth: func(ctx context.Context, month string) (*commission.Closing, error) {
			return report.CloseMonth(ctx, reading.dsn, reading.zone, month, time.Now())
		},
		Archive: func(ctx context.Context) (*report.Archive, error) {
			return report.ArchiveAt(ctx, c.Archive.Sink(nil).Dir)
		},
		Gate: gate, Console: pages, Logger: log,
	}), func() error { return errors.Join(reading.close(), shelf.close()) }
}

// books reads the commission books from when they are there.
type books struct {
	dsn  string
	zone *time.Location

	mu     sync.Mutex
	reader *commission.Reader
}

func (b *books) open(ctx context.Context) (console.Books, error) {
	r, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (b *books) read(ctx context.Context) (*commission.Reader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader != nil {
		return b.reader, nil
	}
	r, err := commission.OpenReader(ctx, b.dsn, commission.InZone(b.zone))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, commission.ErrNotBooks) {
		return nil, report.ErrNoBooks
	}
	if err != nil {
		return nil, err
	}
	b.reader = r
	return r, nil
}

func (b *books) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reader == nil {
		return nil
	}
	return b.reader.Close()
}
