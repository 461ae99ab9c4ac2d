package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

// servePostback takes the network's pushes until ctx ends. It does nothing when
// no address is configured, or the process does not poll.
func servePostback(ctx context.Context, c *config.Config, l *line.Line, log *slog.Logger) error {
	handler := l.Postback()
	if handler == nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Postback.Listen)
	if err != nil {
		return fmt.Errorf("postback.listen: %w", err)
	}
	for i := range c.Accounts {
		if a := &c.Accounts[i]; a.Push {
			log.Info("pushes are taken", "account", a.Name, "url", "http://"+listener.Addr().String()+c.Postback.Path+"/"+a.Name)
		}
	}
	return serveHTTP(ctx, listener, handler)
}
