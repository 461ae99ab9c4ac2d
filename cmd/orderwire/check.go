package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/sinks/webhook"
	"github.com/orderwire/orderwire/sources/openapi"
)

// checkTimeout bounds the question to one account's network.
const checkTimeout = time.Minute

func newCheck(o *options) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration, and each account's key with the network",
		Long: `Reads the configuration, says what the next run would change about the streams of the
log and how far the Iceberg table is, and asks the network with every account's key.
Nothing is changed or stored.

Exit code 2 names the line of a mistake in the file; exit code 1 says why NATS or the
network refuses or cannot be reached, or why a run would not start.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return check(c.Context(), o, file) },
	}
	configFlag(c, &file)
	return c
}

func check(ctx context.Context, o *options, file string) error {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%s is well-formed: %d accounts, %d webhooks\n", file, len(c.Accounts), len(c.Webhooks))
	for i := range c.Webhooks {
		settings := c.Webhooks[i].Endpoint(nil)
		if err := settings.Check(time.Now()); err != nil {
			return &config.Error{File: file, What: err.Error()}
		}
		endpoint, err := webhook.New(settings)
		if err != nil {
			return &config.Error{File: file, What: err.Error()}
		}
		fmt.Fprintf(o.out, "webhook %s: ok\n", endpoint)
		for _, public := range endpoint.PublicKeys() {
			fmt.Fprintf(o.out, "webhook %s: its receiver verifies with %s\n", endpoint, public)
		}
		endpoint.Close()
	}
	failures := []error{checkLog(ctx, o, c), checkTable(ctx, o, c)}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		if err := checkAccount(ctx, a); err != nil {
			failures = append(failures, fmt.Errorf("account %s: %w", a.Name, err))
			continue
		}
		fmt.Fprintf(o.out, "account %s: the network at %s accepts its key\n", a.Name, a.BaseURL)
	}
	return errors.Join(failures...)
}

// checkLog says what the next run would do to the streams, on the NATS servers of
// the configuration or on the embedded one of a process that runs. It changes
// nothing.
func checkLog(ctx context.Context, o *options, c *config.Config) error {
	found, err := line.Inspect(ctx, c)
	if err != nil || found == nil {
		return err
	}
	fmt.Fprintf(o.out, "nats: %s can be used\n", found.Server)
	var refused []error
	for _, p := range found.Streams {
		if p.Refused != nil {
			refused = append(refused, fmt.Errorf("nats: the next run would refuse to start: %w", p.Refused))
			continue
		}
		if p.New || len(p.Changes) > 0 {
			fmt.Fprintf(o.out, "nats: the next run sets up %s\n", p)
		}
	}
	return errors.Join(refused...)
}

// checkTable says how far the table of Iceberg is.
func checkTable(ctx context.Context, o *options, c *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := line.InspectTable(ctx, c)
	if err != nil {
		return fmt.Errorf("archive.iceberg: %w", err)
	}
	if found != "" {
		fmt.Fprintf(o.out, "iceberg: %s\n", found)
	}
	return nil
}

func checkAccount(ctx context.Context, a *config.Account) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client, err := a.Client(nil)
	if err != nil {
		return err
	}
	err = client.Check(ctx)
	var refused *openapi.RefusedError
	var unreachable *openapi.TransportError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("the network refuses the key: %w (check app_key, app_secret, service_prefix and this machine's clock)", err)
	case errors.As(err, &unreachable):
		return fmt.Errorf("the network cannot be reached: %w (check base_url and the way out)", err)
	default:
		return err
	}
}
