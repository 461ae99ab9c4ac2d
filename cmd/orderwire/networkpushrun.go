package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/sources/network"
)

// pushFlags are the flags of `orderwire network` about the order push.
type pushFlags struct {
	url          string
	allowPrivate bool
	retryEvery   time.Duration
}

func (f *pushFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.url, "push-url", "", "tell the first publisher there about its orders (see orderwire network push)")
	fl.BoolVar(&f.allowPrivate, "push-allow-private", false, "let pushes go to private and loopback addresses")
	fl.DurationVar(&f.retryEvery, "push-retry-every", network.DefaultPushRetryEvery, "pause between two attempts of a push")
}

// run sends pushes until ctx ends. It begins with a test push to the address of
// the flags, if there is one.
func (f *pushFlags) run(ctx context.Context, service *network.Service, appKeys []string, log *slog.Logger) error {
	pusher, err := service.Pusher(network.PusherConfig{RetryEvery: f.retryEvery, AllowPrivate: f.allowPrivate})
	if err != nil {
		return usageError{err}
	}
	if f.url == "" {
		return pusher.Run(ctx)
	}
	if len(appKeys) == 0 {
		return usageError{errors.New("--push-url: give --app-key as well, or use orderwire network push set")}
	}
	if err := service.SetPushTarget(ctx, appKeys[0], f.url); err != nil {
		return usageError{fmt.Errorf("--push-url: %w", err)}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return pusher.Run(ctx) })
	group.Go(func() error {
		if err := pusher.Test(ctx, appKeys[0]); err != nil {
			log.Warn("the test push was not received; pushes are sent all the same", "app_key", appKeys[0], "reason", err)
			return nil
		}
		log.Info("the test push was received", "app_key", appKeys[0])
		return nil
	})
	return group.Wait()
}
