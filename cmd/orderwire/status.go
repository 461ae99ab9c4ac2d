package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
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

// readyLimit bounds how long /readyz waits for the log.
const readyLimit = 2 * time.Second

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

// serveStatus answers /healthz, /readyz and /api/v1/status until ctx ends. It
// does nothing when no address is configured.
func serveStatus(ctx context.Context, c *config.Config, l *line.Line, log *slog.Logger) error {
	if c.HTTP.Listen == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	log.Info("status service", "url", "http://"+listener.Addr().String()+"/api/v1/status")
	return serveHTTP(ctx, listener, statusHandler(l, string(c.HTTP.Token)))
}

func statusHandler(l *line.Line, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyLimit)
		defer cancel()
		if _, err := l.Status(ctx); err != nil {
			http.Error(w, "the log does not answer", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, r *http.Request) {
		if !bearer(r, token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is asked for", http.StatusUnauthorized)
			return
		}
		s, err := l.Status(r.Context())
		if err != nil {
			http.Error(w, "the log does not answer", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s)
	})
	return mux
}

func bearer(r *http.Request, token string) bool {
	return token == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) == 1
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
