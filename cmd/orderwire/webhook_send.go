package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/schema"
)

func (h *hooks) rotate() *cobra.Command {
	var o endpoints.RotateOptions
	c := h.command("rotate NAME", "Give an added endpoint a new secret, and print it", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		if o.Finish && (o.Keep != 0 || o.Ed25519) {
			return usageError{errors.New("--finish makes no new secret: leave out --keep and --ed25519")}
		}
		secret, err := m.Rotate(ctx, args[0], o)
		if err != nil {
			return err
		}
		if o.Finish {
			return h.did(args[0], "only the newest secret signs now")
		}
		return h.secret(secret, "rotated")
	})
	c.Long = `Makes a new secret, which is printed here and never again. The old one signs beside it
for --keep, so that the receiver can change over meanwhile; --finish ends that at once.
Of an endpoint of the configuration file, edit secret and previous_secrets there.`
	flags := c.Flags()
	flags.DurationVar(&o.Keep, "keep", 0, "how long the old secret signs too (default 24h; less than 0: until --finish)")
	flags.BoolVar(&o.Finish, "finish", false, "end the rotation: old secrets no longer sign")
	flags.BoolVar(&o.Ed25519, "ed25519", false, "make an ed25519 key instead of a secret that both sides know")
	return c
}

var testColumns = []column[endpoints.TestResult]{
	{"webhook_id", func(r endpoints.TestResult) string { return r.ID }},
	{"status", func(r endpoints.TestResult) string {
		if r.Status == 0 {
			return ""
		}
		return strconv.Itoa(r.Status)
	}},
	{"duration", func(r endpoints.TestResult) string {
		return time.Duration(r.Duration).Round(100 * time.Microsecond).String()
	}},
	{"reason", func(r endpoints.TestResult) string { return r.Reason }},
	{"answer", func(r endpoints.TestResult) string { return oneLine(r.Answer) }},
}

// oneLine shows the beginning of a text that may hold anything.
func oneLine(text string) string {
	const most = 60
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func (h *hooks) test() *cobra.Command {
	c := h.command("test NAME", "Send an endpoint a made-up event, once", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		r, err := m.Test(ctx, args[0])
		if err != nil {
			return err
		}
		if r.Reason != "" {
			err = fmt.Errorf("webhook %s has not taken the test: %s", args[0], r.Reason)
		}
		return errors.Join(showOne(h.table(), r, testColumns...), err)
	})
	c.Long = `Sends an event of type webhook.test from this machine, signed as every other, outside of
the log and of any order, also to an endpoint that is paused:

  {"type":"webhook.test","timestamp":"2026-03-01T08:00:00Z","data":{"id":"…","endpoint":"NAME"}}

Exit code 1 says that the endpoint has not taken it.`
	return c
}

func (h *hooks) release() *cobra.Command {
	var key schema.OrderKey
	var skip bool
	c := h.command("release NAME", "Try a parked order again now, or pass over the event that it waits with", func(ctx context.Context, m *endpoints.Manager, args []string) error {
		if key.Account == "" || key.OrderSn == "" {
			return usageError{errors.New("say which order: --account, --program and --order")}
		}
		if err := m.Release(ctx, args[0], key, skip); err != nil {
			return err
		}
		return h.did(args[0], "released "+key.OrderSn)
	})
	c.Long = `Has an order that is parked at an endpoint tried again at once, also one that is held
because its attempts are used up (on_exhausted: park). With --skip, it goes on behind
the event that could not be delivered. The process that delivers must run.`
	flags := c.Flags()
	flags.StringVar(&key.Account, "account", "", "account of the order")
	flags.StringVar(&key.Program, "program", "", "program id of the order")
	flags.StringVar(&key.OrderSn, "order", "", "order number")
	flags.BoolVar(&skip, "skip", false, "pass over the event that could not be delivered")
	return c
}
