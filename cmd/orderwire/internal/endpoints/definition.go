// Package endpoints manages the receivers of webhooks: those of the configuration
// file, and those that were added by command or over HTTP, which stand in a bucket
// beside the log.
//
// A running process takes in what is added, changed and removed there within
// a second. Every change is made on top of the revision that was read, so two
// people at once never overwrite each other's.
package endpoints

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sinks/webhook"
)

// Definition is an endpoint that is added. Its JSON has the keys of an entry under
// webhooks in the configuration file, with the same meanings and defaults; what is
// a secret there is a plain text here, in which ${NAME} and file:PATH mean nothing.
type Definition struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Secret signs. When it is added without one, or with [Ed25519], one is made.
	Secret          string            `json:"secret,omitzero"`
	PreviousSecrets []Previous        `json:"previous_secrets,omitempty"`
	Events          []string          `json:"events,omitempty"`
	Accounts        []string          `json:"accounts,omitempty"`
	Programs        []string          `json:"programs,omitempty"`
	Where           string            `json:"where,omitzero"`
	AllowPrivate    bool              `json:"allow_private,omitzero"`
	ClientCert      string            `json:"client_cert,omitzero"`
	ClientKey       string            `json:"client_key,omitzero"`
	CAFile          string            `json:"ca_file,omitzero"`
	Timeout         config.Duration   `json:"timeout,omitzero"`
	Headers         map[string]string `json:"headers,omitempty"`
	Concurrency     int               `json:"concurrency,omitzero"`
	RateLimit       float64           `json:"rate_limit,omitzero"`
	Unordered       bool              `json:"unordered,omitzero"`
	OnExhausted     string            `json:"on_exhausted,omitzero"`
	Retry           []config.Duration `json:"retry,omitempty"`
	Created         time.Time         `json:"created,omitzero"` // when it was added, set by Add
}

// Ed25519 as the secret of a new endpoint has an ed25519 key made for it.
const Ed25519 = "ed25519"

// Previous is a secret that signs beside a newer one. In JSON it may be a mere
// text.
type Previous struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until,omitzero"` // it no longer signs from then on; zero: until the rotation is finished
}

// UnmarshalJSON reads an object or a text.
func (p *Previous) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &p.Secret) == nil {
		return nil
	}
	type plain Previous
	return json.Unmarshal(b, (*plain)(p))
}

// String returns the name, and so keeps secrets out of texts.
func (d Definition) String() string { return fmt.Sprintf("webhook %q", d.Name) }

// GoString is String, for the verb %#v.
func (d Definition) GoString() string { return d.String() }

// LogValue is String, for package slog.
func (d Definition) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Webhook returns the endpoint as the configuration knows it, with the secrets
// that sign at a time.
func (d *Definition) Webhook(now time.Time) config.Webhook {
	w := config.Webhook{
		Name: d.Name, URL: config.Secret(d.URL), Secret: config.Secret(d.Secret), Events: d.Events, Accounts: d.Accounts,
		Programs: d.Programs, Where: d.Where, AllowPrivate: d.AllowPrivate, ClientCert: config.Secret(d.ClientCert),
		ClientKey: config.Secret(d.ClientKey), CAFile: config.Secret(d.CAFile), Timeout: d.Timeout, Concurrency: d.Concurrency,
		RateLimit: d.RateLimit, Unordered: d.Unordered, OnExhausted: d.OnExhausted, Retry: d.Retry,
	}
	for _, p := range d.signing(now) {
		w.PreviousSecrets = append(w.PreviousSecrets, config.Secret(p.Secret))
	}
	for name, value := range maps.All(d.Headers) {
		if w.Headers == nil {
			w.Headers = make(map[string]config.Secret)
		}
		w.Headers[name] = config.Secret(value)
	}
	return w
}

// signing returns the previous secrets that sign at a time.
func (d *Definition) signing(now time.Time) []Previous {
	return slices.DeleteFunc(slices.Clone(d.PreviousSecrets), func(p Previous) bool { return !p.Until.IsZero() && !p.Until.After(now) })
}

// Expires returns when the next of the previous secrets no longer signs; zero when
// none is to end by itself.
func (d *Definition) Expires(now time.Time) time.Time {
	var next time.Time
	for _, p := range d.signing(now) {
		if !p.Until.IsZero() && (next.IsZero() || p.Until.Before(next)) {
			next = p.Until
		}
	}
	return next
}

// Secret is a new secret, which is shown once.
type Secret struct {
	Name      string `json:"name"`
	Secret    string `json:"secret,omitzero"`     // "" when it was given, or nothing was made
	PublicKey string `json:"public_key,omitzero"` // for the receiver, of an ed25519 key
}

// newSecret makes a secret of the kind that is asked for.
func newSecret(name string, ed25519 bool) Secret {
	if !ed25519 {
		return Secret{Name: name, Secret: webhook.NewSecret()}
	}
	private, public := webhook.NewKeyPair()
	return Secret{Name: name, Secret: private, PublicKey: public}
}
