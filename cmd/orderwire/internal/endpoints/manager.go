package endpoints

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// Manager lists and changes endpoints. Its methods may be called from any
// goroutine, in any process that has the log.
type Manager struct {
	config *config.Config
	log    *jetstream.Log
	logger *slog.Logger
	keys   []sealKey // of the definitions in the bucket, the present one first
}

// New returns a manager of the endpoints of a configuration and of those that were
// added to a log. The logger gets definitions that cannot be used; nil: none.
func New(c *config.Config, log *jetstream.Log, logger *slog.Logger) *Manager {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{config: c, log: log, logger: logger, keys: sealKeys(c)}
}

// List returns all endpoints: those of the file in its order, and then those that
// were added, by name.
func (m *Manager) List(ctx context.Context) ([]View, error) {
	all, err := m.added(ctx)
	if err != nil {
		return nil, err
	}
	var views []View
	for i := range m.config.Webhooks {
		views = append(views, viewOf(&m.config.Webhooks[i], OriginFile))
	}
	var more []View
	for _, a := range all {
		more = append(more, a.view())
	}
	slices.SortFunc(more, byName)
	views = append(views, more...)
	for i := range views {
		if err := views[i].stand(ctx, m.log); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// Get returns one endpoint. The error is [ErrUnknown] when there is none.
func (m *Manager) Get(ctx context.Context, name string) (View, error) {
	w, fromFile := m.fromFile(name)
	var v View
	if fromFile {
		v = viewOf(w, OriginFile)
	} else {
		a, err := m.one(ctx, name)
		if err != nil {
			return View{}, err
		}
		v = a.view()
	}
	return v, of(name, v.stand(ctx, m.log))
}

// Webhooks returns the settings of all endpoints that can be used, those of the
// file first. Secrets that have expired are left out.
func (m *Manager) Webhooks(ctx context.Context) ([]config.Webhook, error) {
	added, err := m.added(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(m.config.Webhooks)
	now := time.Now()
	for _, a := range added {
		if a.Problem != nil {
			m.logger.Warn("an endpoint cannot be used", "endpoint", a.Name, "error", a.Problem)
			continue
		}
		all = append(all, a.Definition.Webhook(now))
	}
	return all, nil
}

// Pause stops an endpoint, over restarts too, until it is resumed: attempts under
// way end, and nothing is lost that the log keeps. The reason is for people.
func (m *Manager) Pause(ctx context.Context, name, reason string) error {
	if _, err := m.webhook(ctx, name); err != nil {
		return err
	}
	return pipeline.Pause(ctx, m.log, name, reason)
}

// Resume lets an endpoint go on that is paused or disabled, and has one that is
// broken probed at once.
func (m *Manager) Resume(ctx context.Context, name string) error {
	if _, err := m.webhook(ctx, name); err != nil {
		return err
	}
	return pipeline.Resume(ctx, m.log, name)
}

// fromFile returns an endpoint of the configuration file.
func (m *Manager) fromFile(name string) (*config.Webhook, bool) {
	at := slices.IndexFunc(m.config.Webhooks, func(w config.Webhook) bool { return w.Name == name })
	if at < 0 {
		return nil, false
	}
	return &m.config.Webhooks[at], true
}

// webhook returns the settings of an endpoint, wherever it stands.
func (m *Manager) webhook(ctx context.Context, name string) (config.Webhook, error) {
	if w, ok := m.fromFile(name); ok {
		return *w, nil
	}
	a, err := m.one(ctx, name)
	if err != nil {
		return config.Webhook{}, err
	}
	return a.Definition.Webhook(time.Now()), nil
}

// isFromFile refuses a change of an endpoint of the file.
func (m *Manager) isFromFile(name, hint string) error {
	return of(name, fmt.Errorf("%w %s: %s", ErrFromFile, m.config.File(), hint))
}

// again tries a change anew for as long as somebody else's comes first.
func again(ctx context.Context, change func() error) error {
	var err error
	for pause := 10 * time.Millisecond; pause < 2*time.Second; pause *= 2 {
		if err = change(); !errors.Is(err, jetstream.ErrChanged) {
			return err
		}
		select {
		case <-time.After(pause): // a replica that is behind gives the old revision
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}
