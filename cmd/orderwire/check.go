package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/pipeline/jetstream"
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
		Long: `Reads the configuration and asks the network with every account's key. Nothing is
stored.

Exit code 2 names the line of a mistake in the file; exit code 1 says why the
network refuses a key or cannot be reached.`,
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
		endpoint, err := webhook.New(c.Webhooks[i].Endpoint(nil))
		if err != nil {
			return &config.Error{File: file, What: err.Error()}
		}
		fmt.Fprintf(o.out, "webhook %s: ok\n", endpoint)
		endpoint.Close()
	}
	failures := []error{checkLog(ctx, o, c)}
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

// checkLog connects to the NATS servers of the configuration, if there are any.
func checkLog(ctx context.Context, o *options, c *config.Config) error {
	if c.NATS.URL == "" {
		return nil
	}
	log, err := line.OpenReader(ctx, c, nil)
	switch {
	case errors.Is(err, jetstream.ErrNoLog):
		fmt.Fprintln(o.out, "nats: connected; the log is created by the first run")
		return nil
	case err != nil:
		return fmt.Errorf("nats: %w (check nats.url and nats.credentials_file)", err)
	}
	fmt.Fprintf(o.out, "nats: the log at %s can be read\n", log.Server())
	return log.Close()
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
