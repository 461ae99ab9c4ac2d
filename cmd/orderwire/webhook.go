package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// newWebhook is the parent of what is done to the receivers of webhooks.
func newWebhook(o *options) *cobra.Command {
	w := &hooks{options: o}
	c := group("webhook", "Manage the endpoints that get events by HTTP",
		w.add(), w.list(), w.remove(), w.pause(), w.resume(), w.rotate(), w.test(), w.release(), newWebhookAttempts(o), newWebhookOwed(o), newWebhookReplay(o))
	c.Long = `Endpoints stand in the configuration file, or are added by command and kept beside the
log. A running "orderwire run" takes in what is added, changed, paused and removed
within a second or two; endpoints of the file can be paused, resumed, tested and
released too. With an embedded log the commands work beside the running process and
without it. A secret is printed once, by the command that makes it, and never again.`
	return c
}

// hooks runs the subcommands that manage endpoints.
type hooks struct {
	*options
	file string
	form string
}

// command is one that works on a log that is open. The names of its arguments
// stand in use.
func (h *hooks) command(use, short string, work func(ctx context.Context, m *endpoints.Manager, args []string) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: exactly(use),
		RunE: func(c *cobra.Command, args []string) error { return h.run(c.Context(), args, work) },
	}
	configFlag(c, &h.file)
	outputFlag(c, &h.form, "table", "json")
	return c
}

func (h *hooks) run(ctx context.Context, args []string, work func(context.Context, *endpoints.Manager, []string) error) (err error) {
	c, err := config.Load(h.file)
	if err != nil {
		return err
	}
	log := h.logger()
	r, err := line.OpenReader(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = work(ctx, endpoints.New(c, r.Log, log), args)
	for _, mistake := range []error{endpoints.ErrUnknown, endpoints.ErrExists, endpoints.ErrFromFile, endpoints.ErrStart} {
		if errors.Is(err, mistake) {
			return usageError{err}
		}
	}
	return err
}

// table lets the functions that print work for endpoints too.
func (h *hooks) table() *manager { return &manager{options: h.options, form: h.form} }

// action is what a command has done.
type action struct {
	Name string `json:"name"`
	Done string `json:"done"`
}

// did says what was done.
func (h *hooks) did(name, what string) error {
	if h.form == "json" {
		return printJSON(h.out, action{name, what})
	}
	_, err := fmt.Fprintf(h.out, "%s: %s\n", name, what)
	return err
}

var viewColumns = []column[endpoints.View]{
	{"name", func(v endpoints.View) string { return v.Name }},
	{"state", func(v endpoints.View) string { return v.State }},
	{"url", func(v endpoints.View) string { return v.URL }},
	{"origin", func(v endpoints.View) string { return v.Origin }},
	{"since", func(v endpoints.View) string { return since(v.Since) }},
	{"reason", func(v endpoints.View) string { return v.Reason }},
}

// since shows a time, "" for none.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return moment(&t)
}

func (h *hooks) list() *cobra.Command {
	return h.command("list", "List the endpoints, of the file and added ones, and how they are", func(ctx context.Context, m *endpoints.Manager, _ []string) error {
		all, err := m.List(ctx)
		if err != nil {
			return err
		}
		return show(h.table(), all, viewColumns...)
	})
}

func (h *hooks) remove() *cobra.Command {
	c := h.command("remove NAME", "Remove an added endpoint, with its cursor and what it has parked", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		if err := m.Remove(ctx, args[0]); err != nil {
			return err
		}
		return h.did(args[0], "removed")
	})
	c.Long = `Removes an endpoint that was added by command, with all that is kept of it, once no
process delivers to it any more. Another one of the same name begins anew.`
	return c
}

func (h *hooks) pause() *cobra.Command {
	var reason string
	c := h.command("pause NAME", "Send an endpoint nothing more until it is resumed", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		if err := m.Pause(ctx, args[0], reason); err != nil {
			return err
		}
		return h.did(args[0], "paused")
	})
	c.Long = `Stops the deliveries to an endpoint, over restarts too. Those under way end; the others
wait in the log, and come in order when the endpoint is resumed. Mind the log's bounds
(nats.max_age): what has aged out is in the archive only.`
	c.Flags().StringVar(&reason, "reason", "", "why, for people")
	return c
}

func (h *hooks) resume() *cobra.Command {
	return h.command("resume NAME", "Let an endpoint go on that is paused, or that was disabled by 410 Gone", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		if err := m.Resume(ctx, args[0]); err != nil {
			return err
		}
		return h.did(args[0], "resumed")
	})
}
