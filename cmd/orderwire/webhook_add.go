package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
)

// addFlags are the flags of `orderwire webhook add`.
type addFlags struct {
	endpoints.Definition
	url, secretFile, rate, retry, from string
	clientCert, clientKey, caFile      string
	ed25519                            bool
	timeout                            time.Duration
	headers                            []string
}

func (h *hooks) add() *cobra.Command {
	var f addFlags
	c := h.command("add NAME", "Add an endpoint, and print its secret", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		f.Name = args[0]
		if err := f.read(h.in); err != nil {
			return usageError{err}
		}
		start, err := parseStart(f.from)
		if err != nil {
			return usageError{fmt.Errorf("--from: %w", err)}
		}
		secret, err := m.Add(ctx, f.Definition, start)
		if err != nil {
			return err
		}
		return h.secret(secret, "added")
	})
	c.Long = `Adds an endpoint, which a running process delivers to at once, with the settings of an
entry under webhooks in the configuration file. Without --secret-file, a secret is
made; it is printed here, and never again. The address and the values of headers may be
written as ${NAME} for an environment variable or as file:PATH, which keeps them out
of the process list.`
	c.Example = `  orderwire webhook add partner-a --url https://partner.example.com/orders --event status.changed
  orderwire webhook add partner-b --url https://b.example.com/in --ed25519 --from first --rate 50/s
  orderwire webhook add partner-c --url https://c.example.com/in --from 2026-11-01T08:00:00Z --where 'amount >= 100'`
	f.flags(c)
	return c
}

func (f *addFlags) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.url, "url", "", "address, https://…")
	flags.StringVar(&f.secretFile, "secret-file", "", "file with the secret, whsec_… or whsk_…; - for standard input (default: one is made)")
	flags.BoolVar(&f.ed25519, "ed25519", false, "make an ed25519 key instead of a secret that both sides know")
	flags.StringArrayVar(&f.Events, "event", nil, "event type to deliver, several by several flags (default all)")
	flags.StringArrayVar(&f.Accounts, "account", nil, "account to deliver, likewise")
	flags.StringArrayVar(&f.Programs, "program", nil, "program id to deliver, likewise")
	flags.StringVar(&f.Where, "where", "", `expression that delivered events satisfy: status == "Approved" && amount >= 100`)
	flags.StringVar(&f.rate, "rate", "", "most attempts a second, 50/s or none (default none)")
	flags.IntVar(&f.Concurrency, "concurrency", 0, "most deliveries at a time (default 16)")
	flags.DurationVar(&f.timeout, "timeout", 0, "of one attempt (default 15s)")
	flags.BoolVar(&f.Unordered, "unordered", false, "deliver each event by itself, without regard to others of its order")
	flags.StringVar(&f.OnExhausted, "on-exhausted", "", "after the last attempt: continue with the order's next event (default), or park the order")
	flags.StringVar(&f.retry, "retry", "", "pauses before further attempts: 5s,1m,1h (default nine over three days)")
	flags.StringArrayVar(&f.headers, "header", nil, `header of every delivery, "Name: value"`)
	flags.StringVar(&f.clientCert, "client-cert", "", "certificate for a receiver that asks for one: a PEM file where the endpoint is delivered from, or file:PATH to keep its text")
	flags.StringVar(&f.clientKey, "client-key", "", "its private key, likewise")
	flags.StringVar(&f.caFile, "ca-file", "", "authorities that may vouch for the receiver, likewise (default the system's)")
	flags.BoolVar(&f.AllowPrivate, "allow-private", false, "allow plain http, and private and loopback addresses")
	flags.StringVar(&f.from, "from", "now", "where it begins: now, first (the oldest event of the log), a sequence, or a time such as 2026-11-01T08:00:00Z")
}

// read completes the definition by what the flags say as texts.
func (f *addFlags) read(in io.Reader) (err error) {
	for _, t := range []struct {
		flag, text string
		to         *string
	}{{"url", f.url, &f.URL}, {"client-cert", f.clientCert, &f.ClientCert}, {"client-key", f.clientKey, &f.ClientKey}, {"ca-file", f.caFile, &f.CAFile}} {
		if *t.to, err = resolved(t.text); err != nil {
			return fmt.Errorf("--%s: %w", t.flag, err)
		}
	}
	if f.Secret, err = readSecret(f.secretFile, in); err != nil {
		return fmt.Errorf("--secret-file: %w", err)
	}
	switch {
	case f.ed25519 && f.Secret != "":
		return errors.New("--secret-file gives the secret already: leave out --ed25519")
	case f.ed25519:
		f.Secret = endpoints.Ed25519
	}
	if f.RateLimit, _, err = replay.ParseRate(f.rate); err != nil {
		return err
	}
	f.Timeout = config.Duration(f.timeout)
	if f.retry != "" {
		for text := range strings.SplitSeq(f.retry, ",") {
			var d config.Duration
			if err := d.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
				return fmt.Errorf("--retry: %w", err)
			}
			f.Retry = append(f.Retry, d)
		}
	}
	return f.readHeaders()
}

func (f *addFlags) readHeaders() error {
	for _, header := range f.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok {
			return errors.New(`--header: write "Name: value"`) // it is not quoted, as it may be a secret
		}
		value, err := resolved(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("--header %s: %w", name, err)
		}
		if f.Headers == nil {
			f.Headers = make(map[string]string)
		}
		f.Headers[strings.TrimSpace(name)] = value
	}
	return nil
}

// resolved returns what a flag says or refers to.
func resolved(text string) (string, error) {
	var secret config.Secret
	err := secret.UnmarshalText([]byte(text))
	return string(secret), err
}

// readSecret reads a secret from a file, or from in for "-"; "" for no file.
func readSecret(file string, in io.Reader) (string, error) {
	var text []byte
	var err error
	switch file {
	case "":
		return "", nil
	case "-":
		text, err = io.ReadAll(io.LimitReader(in, 4<<10))
	default:
		text, err = os.ReadFile(file)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if err == nil && secret == "" {
		err = errors.New("it is empty")
	}
	return secret, err
}

// parseStart reads where an endpoint begins.
func parseStart(text string) (endpoints.Start, error) {
	switch text {
	case "now":
		return endpoints.Start{}, nil
	case "first":
		return endpoints.Start{First: true}, nil
	}
	if sequence, err := strconv.ParseUint(text, 10, 64); err == nil && sequence > 0 {
		return endpoints.Start{Sequence: sequence}, nil
	}
	at, err := parseMoment(text)
	if err != nil || at.IsZero() {
		return endpoints.Start{}, fmt.Errorf("%q is no beginning; write now, first, a sequence, or a time such as 2026-11-01T08:00:00Z", text)
	}
	return endpoints.Start{Time: at}, nil
}

var secretColumns = []column[endpoints.Secret]{
	{"name", func(s endpoints.Secret) string { return s.Name }},
	{"secret", func(s endpoints.Secret) string { return s.Secret }},
	{"public_key", func(s endpoints.Secret) string { return s.PublicKey }},
}

// secret shows a new secret, once, or says what was done when there is none.
func (h *hooks) secret(s endpoints.Secret, what string) error {
	if s.Secret == "" && s.PublicKey == "" && h.form != "json" {
		return h.did(s.Name, what)
	}
	return showOne(h.table(), s, secretColumns...)
}
