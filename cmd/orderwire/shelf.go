package main

import (
	"context"
	"sync"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/archive"
)

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
