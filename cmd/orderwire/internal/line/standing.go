package line

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// Standing is what is known of the line from outside of its processes.
type Standing struct {
	Server string // address of the log, without secrets
	Last   uint64 // newest event in the log
	// Work lists what the configuration asks for and who does it; empty with an
	// embedded log, where one process does all.
	Work []WorkStanding
}

// WorkStanding tells who does a piece of work.
type WorkStanding struct {
	Kind, Name string
	Holder     string // the process, "" for none; one that died, until its lease is taken over
	Since      time.Time
}

// ReadStanding asks the log, without taking part in anything.
func ReadStanding(ctx context.Context, c *config.Config, log *slog.Logger) (_ *Standing, err error) {
	r, err := OpenReader(ctx, c, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s := &Standing{Server: r.Server()}
	if s.Last, err = r.Last(ctx); err != nil || c.NATS.URL == "" {
		return s, err
	}
	leases, err := r.Leases(ctx, jetstream.LeaseConfig{Logger: log})
	if err != nil {
		return nil, err
	}
	defer leases.Close()
	holders := leases.Holders()
	parts, err := workOf(ctx, c, r)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		h := holders[p.lease()]
		s.Work = append(s.Work, WorkStanding{Kind: p.kind, Name: p.name, Holder: h.Holder, Since: h.Since})
	}
	return s, nil
}

// workOf lists the parts of the whole line, with the endpoints that were added.
func workOf(ctx context.Context, c *config.Config, r *Reader) ([]*part, error) {
	var all []*part
	for i := range c.Accounts {
		all = append(all, &part{kind: "account", name: c.Accounts[i].Name})
	}
	for _, sink := range []Role{Archive, Commission} {
		all = append(all, &part{kind: "sink", name: string(sink)})
	}
	for i := range c.Webhooks {
		all = append(all, &part{kind: "endpoint", name: c.Webhooks[i].Name})
	}
	manager := endpoints.New(c, r.Log, nil)
	added, err := manager.All(ctx)
	for _, a := range added {
		if !manager.Shadowed(a.Name) {
			all = append(all, &part{kind: "endpoint", name: a.Name})
		}
	}
	return all, err
}
