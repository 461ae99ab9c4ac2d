package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/endpoints"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/line"
	"github.com/orderwire/orderwire/cmd/orderwire/internal/replay"
)

// replayer delivers events again on behalf of the HTTP service.
type replayer struct {
	config *config.Config
	line   *line.Line
	logger *slog.Logger
}

// Replay implements [api.Replayer].
func (p replayer) Replay(ctx context.Context, name string, q replay.Request) (replay.Report, error) {
	all, err := p.line.Endpoints().Webhooks(ctx)
	if err != nil {
		return replay.Report{}, err
	}
	at := slices.IndexFunc(all, func(w config.Webhook) bool { return w.Name == name })
	if at < 0 {
		return replay.Report{}, fmt.Errorf("webhook %s: %w", name, endpoints.ErrUnknown)
	}
	job := replay.Job{Request: q, Endpoint: all[at], Log: p.line.Log(), Archive: p.config.Archive.Sink(nil).Dir, Logger: p.logger}
	return job.Run(ctx)
}
