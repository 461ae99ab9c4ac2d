package line

import (
	"context"
	"errors"
	"log/slog"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/archive"
)

// table is a table of Iceberg that follows the archive.
type table interface {
	archive.Follower
	// Inspect says how far the table is, and changes nothing.
	Inspect(ctx context.Context) (string, error)
	Close() error
}

// newTable returns what keeps a table of Iceberg in step with the archive; nil
// when none is configured.
func newTable(a *config.Archive, log *slog.Logger) (table, error) {
	if a.Iceberg.Catalog == "" {
		return nil, nil
	}
	return openTable(a, log)
}

// InspectTable says how far the table of Iceberg is; "" when none is configured.
// It changes nothing.
func InspectTable(ctx context.Context, c *config.Config) (string, error) {
	t, err := newTable(&c.Archive, nil)
	if t == nil || err != nil {
		return "", err
	}
	found, err := t.Inspect(ctx)
	return found, errors.Join(err, t.Close())
}

// FollowTable brings the table of Iceberg, if one is configured, up to the archive.
func FollowTable(ctx context.Context, c *config.Config, log *slog.Logger) error {
	t, err := newTable(&c.Archive, log)
	if t == nil || err != nil {
		return err
	}
	return errors.Join(t.Follow(ctx), t.Close())
}
