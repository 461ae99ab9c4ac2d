package endpoints

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// Where an endpoint stands.
const (
	OriginFile  = "file"  // in the configuration file
	OriginAdded = "added" // in the bucket, by command or over HTTP
)

// How an endpoint is.
const (
	StateActive   = "active"
	StatePaused   = "paused"   // by a person
	StateDisabled = "disabled" // the receiver wants no more, until a person resumes it
	StateBroken   = "broken"   // it fails throughout and is probed
	StateInvalid  = "invalid"  // its definition cannot be used; Reason says why
)

// View is an endpoint without its secrets.
type View struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`              // scheme and host only
	Origin  string    `json:"origin"`           // OriginFile or OriginAdded
	State   string    `json:"state"`            // StateActive and so on
	Reason  string    `json:"reason,omitzero"`  // of the state, "" for none
	Since   time.Time `json:"since,omitzero"`   // of the state, zero when not known
	Created time.Time `json:"created,omitzero"` // zero for one of the file

	Events      []string        `json:"events,omitempty"` // empty: all, as the following two
	Accounts    []string        `json:"accounts,omitempty"`
	Programs    []string        `json:"programs,omitempty"`
	Where       string          `json:"where,omitzero"`
	Timeout     config.Duration `json:"timeout,omitzero"`
	Concurrency int             `json:"concurrency,omitzero"`
	RateLimit   float64         `json:"rate_limit,omitzero"`
	Unordered   bool            `json:"unordered,omitzero"`
	OnExhausted string          `json:"on_exhausted,omitzero"`

	Signatures int       `json:"signatures"`            // of a delivery: more than one while a secret rotates
	Rotates    time.Time `json:"rotates_at,omitzero"`   // when the next old secret stops to sign by itself
	PublicKeys []string  `json:"public_keys,omitempty"` // of ed25519 keys, for the receiver
	// Problem is what is wrong with an added endpoint that does not run for it.
	Problem string `json:"problem,omitzero"`
}

func viewOf(w *config.Webhook, origin string) View {
	v := View{
		Name: w.Name, Origin: origin, Events: w.Events, Accounts: w.Accounts, Programs: w.Programs, Where: w.Where, Timeout: w.Timeout,
		Concurrency: w.Concurrency, RateLimit: w.RateLimit, Unordered: w.Unordered, OnExhausted: w.OnExhausted,
		Signatures: 1 + len(w.PreviousSecrets),
	}
	if u, err := url.Parse(string(w.URL)); err == nil && u.Host != "" { // none of a definition that cannot be read
		v.URL = u.Scheme + "://" + u.Host
	}
	for _, secret := range slices.Concat([]config.Secret{w.Secret}, w.PreviousSecrets) {
		if public, err := webhook.PublicKey(string(secret)); err == nil && public != "" {
			v.PublicKeys = append(v.PublicKeys, public)
		}
	}
	return v
}

// stand puts in how the endpoint is.
func (v *View) stand(ctx context.Context, cursors pipeline.CursorStore) error {
	s, err := pipeline.LoadStanding(ctx, cursors, v.Name)
	switch {
	case err != nil:
		return err
	case v.Problem != "":
		v.State, v.Reason = StateInvalid, v.Problem
	case s.Paused:
		v.State, v.Reason, v.Since = StatePaused, s.Reason, s.PausedAt
	case s.Disabled != "":
		v.State, v.Reason, v.Since = StateDisabled, s.Disabled, s.DisabledAt
	case s.Broken:
		v.State, v.Reason, v.Since = StateBroken, "every delivery fails; it is probed", s.BrokenAt
	default:
		v.State = StateActive
	}
	return nil
}

func byName(a, b View) int { return strings.Compare(a.Name, b.Name) }
