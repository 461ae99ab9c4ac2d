package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/sources/network"
)

// defaultOverlap is how long a client has to change over to a new secret.
const defaultOverlap = 24 * time.Hour

var credentialColumns = []column[network.Credentials]{
	{"app_key", func(c network.Credentials) string { return c.AppKey }},
	{"app_secret", func(c network.Credentials) string { return c.AppSecret }},
}

var keyColumns = []column[network.Key]{
	{"key", func(k network.Key) string { return k.Key }},
	{"side", func(k network.Key) string { return k.Side }},
	{"owner", func(k network.Key) string { return k.Owner }},
	{"secrets", func(k network.Key) string { return strconv.FormatInt(k.Secrets, 10) }},
	{"changed", func(k network.Key) string { return moment(&k.Changed) }},
	{"disabled", func(k network.Key) string { return moment(k.Disabled) }},
}

func (m *manager) key() *cobra.Command {
	c := group("key", "Manage App Keys and their secrets",
		m.newKey(), m.listKeys(), m.rotateKey(),
		m.switchKey("disable KEY", "End the access of a key, an ADS_KEY too", (*network.Service).DisableKey),
		m.switchKey("enable KEY", "Give a disabled key its access back", (*network.Service).EnableKey))
	c.Long = `A secret is printed once, by the command that makes it, and never again. Given
secrets may be written as ${NAME} or file:PATH, which keeps them out of the process
list. A running service follows every change at once.`
	return c
}

func (m *manager) newKey() *cobra.Command {
	var k network.NewKey
	c := m.command("new", "Make an App Key and print it with its secret", func(ctx context.Context, s *network.Service, _ []string) (err error) {
		if k.AppSecret, err = givenSecret(k.AppSecret); err != nil {
			return err
		}
		made, err := s.CreateKey(ctx, k)
		if err != nil {
			return err
		}
		return showOne(m, made, credentialColumns...)
	})
	c.Flags().StringVar(&k.Publisher, "publisher", "", "name of the publisher")
	c.Flags().StringVar(&k.AppKey, "app-key", "", "the App Key (default: a random one)")
	c.Flags().StringVar(&k.AppSecret, "app-secret", "", "the App Secret (default: a random one)")
	return c
}

func (m *manager) listKeys() *cobra.Command {
	var owner string
	c := m.command("list", "List the keys of publishers and brands", func(ctx context.Context, s *network.Service, _ []string) error {
		all, err := s.Keys(ctx, owner)
		if err != nil {
			return err
		}
		return show(m, all, keyColumns...)
	})
	c.Flags().StringVar(&owner, "owner", "", "only those of this publisher or brand")
	return c
}

func (m *manager) rotateKey() *cobra.Command {
	var secret string
	var overlap time.Duration
	c := m.command("rotate KEY", "Make a new secret for an App Key and print it", func(ctx context.Context, s *network.Service, args []string) error {
		given, err := givenSecret(secret)
		if err != nil {
			return err
		}
		made, err := s.RotateSecret(ctx, args[0], given, overlap)
		if err != nil {
			return err
		}
		return showOne(m, made, credentialColumns...)
	})
	c.Flags().StringVar(&secret, "app-secret", "", "the new App Secret (default: a random one)")
	c.Flags().DurationVar(&overlap, "overlap", defaultOverlap, "how long the secret before stays valid; 0 ends it at once")
	return c
}

func (m *manager) switchKey(use, short string, set func(*network.Service, context.Context, string) error) *cobra.Command {
	return m.command(use, short, func(ctx context.Context, s *network.Service, args []string) error {
		if err := set(s, ctx, args[0]); err != nil {
			return err
		}
		all, err := s.Keys(ctx, "")
		if err != nil {
			return err
		}
		for _, k := range all {
			if k.Key == args[0] {
				return showOne(m, k, keyColumns...)
			}
		}
		return nil
	})
}

// givenSecret resolves the flag --app-secret.
func givenSecret(flag string) (string, error) {
	var secret config.Secret
	if err := secret.UnmarshalText([]byte(flag)); err != nil {
		return "", usageError{fmt.Errorf("--app-secret: %w", err)}
	}
	if flag != "" && secret == "" {
		return "", usageError{fmt.Errorf("--app-secret: what it refers to is empty")}
	}
	return string(secret), nil
}
