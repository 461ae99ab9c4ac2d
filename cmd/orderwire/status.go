package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
)

func newStatus(o *options) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "status -c FILE",
		Short: "Say which process does what",
		Long: `Prints how much is in the log, and with nats.url which process has each account,
sink and endpoint: for several processes of "orderwire run" that share the work. More
about one process is in its /api/v1/status (see http.listen).`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return status(c.Context(), o, file) },
	}
	configFlag(c, &file)
	return c
}

func status(ctx context.Context, o *options, file string) error {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	s, err := line.ReadStanding(ctx, c, o.logger())
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "the log at %s: newest event %d\n", s.Server, s.Last)
	for _, w := range s.Work {
		holder := "nobody at the moment"
		if w.Holder != "" {
			holder = fmt.Sprintf("%s, since %s", w.Holder, w.Since.Local().Format(time.DateTime))
		}
		fmt.Fprintf(o.out, "%s %s: %s\n", w.Kind, w.Name, holder)
	}
	return nil
}

// serveStatus answers over HTTP until ctx ends; see packages api and console. It
// does nothing when no address is configured.
func serveStatus(ctx context.Context, c *config.Config, l *line.Line, log *slog.Logger) (err error) {
	if c.HTTP.Listen == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	log.Info("status service", "url", "http://"+listener.Addr().String()+"/api/v1/status")
	log.Info("console", "url", "http://"+listener.Addr().String()+"/")
	handler, closed := service(c, l, log)
	defer func() { err = errors.Join(err, closed()) }()
	return serveHTTP(ctx, listener, handler)
}

// serveHTTP serves until ctx ends, then lets requests under way finish.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		err := server.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		stopped <- err
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
