package endpoints

import (
	"context"
	"errors"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// document is what the bucket holds of an endpoint.
type document struct {
	Definition
	// Phase is set while the endpoint is added or removed: then it has no
	// definition that anybody may use.
	Phase   string    `json:"phase,omitzero"`
	PhaseAt time.Time `json:"phase_at,omitzero"`
}

const (
	adding   = "adding"
	removing = "removing"
	// phaseLimit is after which one who adds or removes is taken for dead.
	phaseLimit = time.Minute
)

// Added is an endpoint of the bucket.
type Added struct {
	Name       string
	Revision   uint64
	Definition Definition
	Gone       bool  // it was removed, or is being added or removed
	Problem    error // why it cannot be used, nil when it can

	phase   string
	phaseAt time.Time
}

// read makes an endpoint of what the bucket holds.
func (m *Manager) read(d jetstream.EndpointDocument) Added {
	a := Added{Name: d.Name, Revision: d.Revision, Gone: d.Value == nil}
	if a.Gone {
		return a
	}
	doc, _, err := m.decode(d.Name, d.Value)
	if err != nil {
		a.Problem = err
		return a
	}
	a.Definition, a.phase, a.phaseAt = doc.Definition, doc.Phase, doc.PhaseAt
	a.Definition.Name = d.Name // which its cursor goes by
	if a.Gone = doc.Phase != ""; a.Gone {
		return a
	}
	if _, taken := m.fromFile(d.Name); taken {
		a.Problem = errors.New("the configuration file has an endpoint of the same name, which is used instead; remove takes away this one only")
		return a
	}
	w := a.Definition.Webhook(time.Now())
	a.Problem = m.config.CheckWebhook(&w)
	return a
}

// Shadowed reports whether the configuration file has an endpoint of that name,
// which is used instead of an added one.
func (m *Manager) Shadowed(name string) bool {
	_, taken := m.fromFile(name)
	return taken
}

func (a *Added) view() View {
	now := time.Now()
	w := a.Definition.Webhook(now)
	w.Name = a.Name
	v := viewOf(&w, OriginAdded)
	v.Created, v.Rotates = a.Definition.Created, a.Definition.Expires(now)
	if a.Problem != nil {
		v.Problem = a.Problem.Error()
	}
	return v
}

// added returns the endpoints of the bucket, without those that are being added or
// removed.
func (m *Manager) added(ctx context.Context) ([]Added, error) {
	documents, err := m.log.ListEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	var all []Added
	for _, d := range documents {
		if a := m.read(d); !a.Gone {
			all = append(all, a)
		}
	}
	return all, nil
}

// All returns the endpoints of the bucket that are there, also those that cannot
// be used.
func (m *Manager) All(ctx context.Context) ([]Added, error) { return m.added(ctx) }

// one returns an endpoint of the bucket.
func (m *Manager) one(ctx context.Context, name string) (Added, error) {
	d, found, err := m.log.LoadEndpoint(ctx, name)
	if err != nil {
		return Added{}, err
	}
	a := m.read(d)
	if !found || a.Gone {
		return Added{}, of(name, ErrUnknown)
	}
	return a, nil
}

// Ready says why a process must not begin to deliver to an added endpoint: it is
// being removed, or was, and its cursor with it. A process that takes the work over
// may not have been told yet, and would begin with the oldest event.
func (m *Manager) Ready(ctx context.Context, name string) error {
	if _, err := m.one(ctx, name); err != nil {
		return err
	}
	found, err := pipeline.Begun(ctx, m.log, name)
	if err == nil && !found {
		err = errors.New("its cursor is gone; remove the endpoint and add it again")
	}
	return of(name, err)
}

// Watch tells every endpoint of the bucket and then every change, until ctx ends:
// then the channel is closed. One may come again as it stands.
func (m *Manager) Watch(ctx context.Context) <-chan Added {
	out := make(chan Added)
	go func() {
		defer close(out)
		for d := range m.log.WatchEndpoints(ctx) {
			select {
			case out <- m.read(d):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
