package endpoints

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// Start says which event is the first that a new endpoint gets. The zero value:
// the one that comes next. At most one field is set.
type Start struct {
	First    bool      // the oldest that the log holds
	Sequence uint64    // of the first event
	Time     time.Time // the first event that was stored then or later
}

// removeLimit is how long a process may take to let go of an endpoint that is
// removed: its attempts under way have five seconds.
const removeLimit = 20 * time.Second

// askLimit bounds one question whether a process delivers to an endpoint.
const askLimit = 300 * time.Millisecond

// Add stores a new endpoint, which running processes then deliver to. It makes a
// secret when the definition has none, and returns it, once. Where it begins is
// durable before anybody sees it, and nothing is left of an earlier endpoint of the
// name. Errors: [ErrExists], [ErrBusy], [ErrStart], and mistakes in the definition.
func (m *Manager) Add(ctx context.Context, d Definition, start Start) (Secret, error) {
	if _, taken := m.fromFile(d.Name); taken {
		return Secret{}, of(d.Name, ErrExists)
	}
	d.Created = time.Now().UTC().Truncate(time.Millisecond)
	secret := d.complete()
	w := d.Webhook(d.Created)
	if err := m.config.CheckWebhook(&w); err != nil {
		return Secret{}, err
	}
	after, err := m.after(ctx, start)
	if err != nil {
		return Secret{}, of(d.Name, err)
	}
	revision, err := m.reserve(ctx, d.Name)
	if err != nil {
		return Secret{}, of(d.Name, err)
	}
	if err = m.forget(ctx, d.Name); err == nil {
		err = pipeline.Begin(ctx, m.log, d.Name, after)
	}
	if err == nil {
		_, err = m.store(ctx, document{Definition: d}, revision)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = m.log.DeleteEndpoint(undo, d.Name, revision) // else the name is free after a minute
		return Secret{}, of(d.Name, err)
	}
	return secret, nil
}

// complete makes the secret that is missing.
func (d *Definition) complete() Secret {
	switch d.Secret {
	case "", Ed25519:
		made := newSecret(d.Name, d.Secret == Ed25519)
		d.Secret = made.Secret
		return made
	default:
		public, _ := webhook.PublicKey(d.Secret) // a secret that is none is found by the checks
		return Secret{Name: d.Name, PublicKey: public}
	}
}

// after returns the sequence behind which an endpoint begins.
func (m *Manager) after(ctx context.Context, start Start) (uint64, error) {
	first, last, err := m.log.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case start.First:
		return 0, nil
	case !start.Time.IsZero():
		at, err := m.log.SequenceAt(ctx, start.Time)
		return at - min(at, 1), err
	case start.Sequence == 0:
		return last, nil
	case start.Sequence < first:
		return 0, fmt.Errorf("%w: the log begins at event %d (begin with the first, and replay what is older from the archive)", ErrStart, first)
	case start.Sequence > last+1:
		return 0, fmt.Errorf("%w: the newest event is %d", ErrStart, last)
	}
	return start.Sequence - 1, nil
}

// reserve takes a name, which nobody else can then. It takes over from one who
// died at it.
func (m *Manager) reserve(ctx context.Context, name string) (uint64, error) {
	doc := document{Definition: Definition{Name: name}, Phase: adding, PhaseAt: time.Now().UTC()}
	var revision uint64
	err := again(ctx, func() error {
		value, err := m.encode(&doc)
		if err != nil {
			return err
		}
		if revision, err = m.log.CreateEndpoint(ctx, name, value); !errors.Is(err, jetstream.ErrChanged) {
			return err
		}
		d, found, err := m.log.LoadEndpoint(ctx, name)
		if err != nil || !found {
			return errors.Join(err, jetstream.ErrChanged)
		}
		a := m.read(d)
		switch {
		case !a.Gone:
			return ErrExists
		case time.Since(a.phaseAt) < phaseLimit:
			return ErrBusy
		}
		revision, err = m.store(ctx, doc, a.Revision)
		return err
	})
	return revision, err
}

func (m *Manager) store(ctx context.Context, doc document, revision uint64) (uint64, error) {
	value, err := m.encode(&doc)
	if err != nil {
		return 0, err
	}
	return m.log.UpdateEndpoint(ctx, jetstream.EndpointDocument{Name: doc.Name, Value: value, Revision: revision})
}

// Remove takes an added endpoint away: its definition, its cursor, how it stands
// and what it has parked. It waits until no process delivers to it any more. Errors:
// [ErrUnknown], [ErrFromFile]. It may be called again after an error.
func (m *Manager) Remove(ctx context.Context, name string) error {
	_, taken := m.fromFile(name)
	d, found, err := m.log.LoadEndpoint(ctx, name)
	switch {
	case err != nil:
		return err
	case taken && !found:
		return m.isFromFile(name, "take it out there and start the process again")
	case taken: // all that is kept under the name belongs to the one of the file
		return of(name, m.log.DeleteEndpoint(ctx, name, d.Revision))
	case !found:
		return of(name, ErrUnknown)
	}
	var revision uint64
	err = again(ctx, func() error {
		d, found, err := m.log.LoadEndpoint(ctx, name)
		if err != nil {
			return err
		}
		if !found {
			return ErrUnknown
		}
		revision, err = m.store(ctx, document{Definition: Definition{Name: name}, Phase: removing, PhaseAt: time.Now().UTC()}, d.Revision)
		return err
	})
	if err == nil {
		err = m.forget(ctx, name)
	}
	if err == nil {
		err = m.log.DeleteEndpoint(ctx, name, revision)
	}
	return of(name, err)
}

// forget waits until no process delivers to an endpoint, and removes all that is
// kept of it but its definition.
func (m *Manager) forget(ctx context.Context, name string) error {
	limited, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	for {
		if m.deserted(limited, name) {
			return pipeline.Forget(ctx, m.log, m.log, name)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limited.Done():
			return fmt.Errorf("a process has not let go of it in %s; try again, or stop that process", removeLimit)
		}
	}
}

// deserted reports whether no process delivers to an endpoint. One that is just
// ending may leave the question without an answer.
func (m *Manager) deserted(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	_, err := m.log.Call(ctx, name, nil)
	return errors.Is(err, jetstream.ErrNobody)
}
