package endpoints

import (
	"context"
	"fmt"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// DefaultKeep is how long the old secret signs beside a new one.
const DefaultKeep = 24 * time.Hour

// RotateOptions say how a secret is changed.
type RotateOptions struct {
	// Keep is how long the old secret goes on signing beside the new one; 0 means
	// [DefaultKeep], less than 0 until the rotation is finished.
	Keep time.Duration
	// Finish ends a rotation instead: old secrets no longer sign from now on.
	Finish bool
	// Ed25519 makes an ed25519 key; the default is a symmetric secret.
	Ed25519 bool
}

// mostPrevious is how many old secrets sign beside the present one at most.
const mostPrevious = 15

// Rotate gives an added endpoint a new secret, which it returns, once; the old one
// goes on signing for a while. With Finish there is no new one. Two who rotate at
// once both get a secret that signs. Errors: [ErrUnknown], [ErrFromFile].
func (m *Manager) Rotate(ctx context.Context, name string, o RotateOptions) (Secret, error) {
	if m.Shadowed(name) {
		return Secret{}, m.isFromFile(name, "write the new secret as secret, move the old one to previous_secrets, and start the process again; both sign until you take it out there")
	}
	var made Secret
	err := m.change(ctx, name, func(d *Definition) (err error) {
		made, err = d.rotate(o, time.Now())
		return err
	})
	return made, of(name, err)
}

func (d *Definition) rotate(o RotateOptions, now time.Time) (Secret, error) {
	if o.Finish {
		d.PreviousSecrets = nil
		public, err := webhook.PublicKey(d.Secret)
		return Secret{Name: d.Name, PublicKey: public}, err
	}
	old := Previous{Secret: d.Secret}
	if keep := o.Keep; keep >= 0 {
		if keep == 0 {
			keep = DefaultKeep
		}
		old.Until = now.Add(keep).UTC().Truncate(time.Millisecond)
	}
	d.PreviousSecrets = append([]Previous{old}, d.signing(now)...)
	if n := len(d.PreviousSecrets); n > mostPrevious {
		return Secret{}, &config.Error{
			Path: "previous_secrets", What: fmt.Sprintf("%d old secrets would sign", n), Hint: "end the rotations under way first: orderwire webhook rotate NAME --finish",
		}
	}
	made := newSecret(d.Name, o.Ed25519)
	d.Secret = made.Secret
	return made, nil
}

// change makes a change on top of the definition as it stands.
func (m *Manager) change(ctx context.Context, name string, do func(*Definition) error) error {
	return again(ctx, func() error {
		d, found, err := m.log.LoadEndpoint(ctx, name)
		if err != nil {
			return err
		}
		a := m.read(d)
		if !found || a.Gone {
			return ErrUnknown
		}
		if a.Problem != nil {
			return a.Problem
		}
		if err := do(&a.Definition); err != nil {
			return err
		}
		_, err = m.store(ctx, document{Definition: a.Definition}, a.Revision)
		return err
	})
}
