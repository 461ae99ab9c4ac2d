package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/demo"
)

func newDemo(o *options) *cobra.Command {
	var limit time.Duration
	var dir string
	var orders int64
	c := &cobra.Command{
		Use:   "demo",
		Short: "See the whole line at work, without any account or configuration",
		Long: `Starts a network of its own with orders that change, polls it, and shows what
happens: events, archive files, webhook deliveries, commission by status. The first
line is the address of the console, for a browser on this machine. Stop it
with Ctrl-C, or give --for. Everything stays in a folder, so that the other
commands can be tried on it, and the next demo goes on from there.`,
		Example: "  orderwire demo\n  orderwire demo --for 30s",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			return demo.Run(ctx, demo.Config{
				Dir: dir, Orders: orders, Out: o.out, Logger: quiet(o), Program: program(), Serve: serveHTTP, Service: service,
			})
		},
	}
	c.Flags().DurationVar(&limit, "for", 0, "end by itself after this time (0: never)")
	c.Flags().StringVar(&dir, "dir", "orderwire-demo", "folder to keep everything in")
	c.Flags().Int64Var(&orders, "orders", 2000, "orders that the network begins with")
	return c
}

// program returns how to call this program again.
func program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/orderwire"
	}
	return os.Args[0]
}

// quiet keeps the log out of the demo's display but for what goes wrong.
func quiet(o *options) *slog.Logger {
	if o.verbose {
		return o.logger()
	}
	return slog.New(slog.NewTextHandler(o.err, &slog.HandlerOptions{Level: slog.LevelError}))
}
