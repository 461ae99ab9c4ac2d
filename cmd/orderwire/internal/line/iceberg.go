//go:build iceberg

package line

import (
	"context"
	"log/slog"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/archive/iceberg"
)

// openTable returns what keeps the table of a configuration in step with the
// archive. This file alone imports the libraries for it: they make the program half
// as large again, and its every start a quarter of a second longer.
func openTable(a *config.Archive, log *slog.Logger) (table, error) {
	f, err := iceberg.New(iceberg.Config{
		Archive: a.Sink(log).Dir, Catalog: string(a.Iceberg.Catalog), Table: a.Iceberg.Table, Warehouse: a.Iceberg.Warehouse, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	return icebergTable{f}, nil
}

// icebergTable is a [table].
type icebergTable struct{ *iceberg.Follower }

// Inspect implements [table].
func (t icebergTable) Inspect(ctx context.Context) (string, error) {
	found, err := t.Follower.Inspect(ctx)
	if err != nil {
		return "", err
	}
	return found.String(), nil
}
