package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/orderwire/orderwire/schema"
	"github.com/orderwire/orderwire/sinks/archive"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/openapi"
	"github.com/orderwire/orderwire/sources/poller"
	"github.com/orderwire/orderwire/sources/postback"
)

// Client returns the signed client of an account.
func (a *Account) Client(log *slog.Logger) (*openapi.Client, error) {
	return openapi.NewClient(openapi.Config{
		BaseURL: a.BaseURL, AppKey: string(a.AppKey), AppSecret: string(a.AppSecret), ServicePrefix: a.ServicePrefix,
		SuccessStatus: a.SuccessStatus, Ampersand: openapi.Ampersand(a.Ampersand == "hex"),
		Timeout: time.Duration(a.Poll.Timeout), MaxAttempts: a.Poll.MaxAttempts,
		RequestsPerSecond: a.Poll.RequestsPerSecond, Logger: log,
	})
}

// Poller returns what and how an account is polled.
func (a *Account) Poller() (poller.Account, error) {
	zone, err := time.LoadLocation(a.TimeZone)
	if err != nil {
		return poller.Account{}, fmt.Errorf("time_zone: %w", err)
	}
	p := a.Poll
	return poller.Account{
		Name: a.Name, Location: zone, OrderField: p.OrderField, Every: time.Duration(p.Every),
		Overlap: time.Duration(p.Overlap), Backfill: time.Duration(p.Backfill), MaxSpan: time.Duration(p.MaxSpan), PageSize: p.PageSize,
	}, nil
}

// Receiver returns what takes the pushes of all accounts; nil when it is off.
func (c *Config) Receiver(log *slog.Logger) (*postback.Receiver, error) {
	if c.Postback.Listen == "" {
		return nil, nil
	}
	settings := postback.Config{Path: c.Postback.Path, ClockWindow: time.Duration(c.Postback.ClockWindow), Logger: log}
	for _, a := range c.Accounts {
		if a.Push {
			settings.Accounts = append(settings.Accounts, postback.Account{Name: a.Name, AppKey: string(a.AppKey), AppSecret: string(a.AppSecret)})
		}
	}
	return postback.New(settings)
}

// Sink returns the archive's settings.
func (a *Archive) Sink(log *slog.Logger) archive.Config {
	dir := a.URL
	if u, err := url.Parse(a.URL); err == nil && u.Scheme == "file" {
		dir = u.Path
	}
	return archive.Config{Dir: dir, RollBytes: int64(a.RollBytes), RollEvery: time.Duration(a.RollEvery), Logger: log}
}

// Endpoint returns an endpoint's settings.
func (w *Webhook) Endpoint(log *slog.Logger) webhook.Config {
	c := webhook.Config{
		Name: w.Name, URL: string(w.URL), Secret: string(w.Secret), Accounts: w.Accounts, Programs: w.Programs, Where: w.Where,
		AllowPrivate: w.AllowPrivate, Timeout: time.Duration(w.Timeout), Headers: make(map[string]string, len(w.Headers)), Logger: log,
		ClientCert: webhook.PEM(w.ClientCert), ClientKey: webhook.PEM(w.ClientKey), CAFile: webhook.PEM(w.CAFile),
	}
	for _, t := range w.Events {
		c.Events = append(c.Events, schema.EventType(t))
	}
	for _, s := range w.PreviousSecrets {
		c.PreviousSecrets = append(c.PreviousSecrets, string(s))
	}
	for name, value := range w.Headers {
		c.Headers[name] = string(value)
	}
	return c
}

// Schedule returns the pauses before further attempts, nil for the default.
func (w *Webhook) Schedule() []time.Duration {
	var all []time.Duration
	for _, d := range w.Retry {
		all = append(all, time.Duration(d))
	}
	return all
}
