package endpoints

import (
	"context"
	"fmt"
	"slices"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
)

// Owed reports what one endpoint is owed, or with "" what all are. The error is
// [ErrUnknown] when there is none of that name. Step may be nil; see [OwedOptions].
func (m *Manager) Owed(ctx context.Context, name string, step func(done, total int64)) ([]Owed, error) {
	all, err := m.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	if name != "" {
		all = slices.DeleteFunc(all, func(w config.Webhook) bool { return w.Name != name })
		if len(all) == 0 {
			return nil, m.unusable(ctx, name)
		}
	}
	return ReadOwed(ctx, m.log, all, OwedOptions{Skip: m.config.NATS.SkipAgedOut, Step: step})
}

// unusable says why an endpoint is not among those that can be used.
func (m *Manager) unusable(ctx context.Context, name string) error {
	v, err := m.Get(ctx, name)
	if err != nil {
		return err
	}
	return of(name, fmt.Errorf("what it is owed cannot be told, as its definition cannot be used: %s", v.Problem))
}
