package pipelinetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// monitorLimit bounds one question to a server's monitoring port; a paused one
	// never answers.
	monitorLimit = 2 * time.Second
	// askAgain is the pause before a condition is looked at again.
	askAgain = 100 * time.Millisecond
)

// await looks at a condition again and again until it holds.
func await(tb testing.TB, limit time.Duration, holds func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("not within %s: %v", limit, err)
		}
	}
}

// healthy asks a server whether it has caught up with all that it holds.
func (n *Node) healthy(ctx context.Context) error {
	_, err := n.ask(ctx, "/healthz")
	return err
}

// State returns what the server itself holds of a stream, whoever leads it.
func (n *Node) State(ctx context.Context, stream string) (server.StreamState, error) {
	d, err := n.stream(ctx, stream)
	return d.State, err
}

func (n *Node) stream(ctx context.Context, name string) (server.StreamDetail, error) {
	raw, err := n.ask(ctx, "/jsz?acc=$G&streams=true")
	if err != nil {
		return server.StreamDetail{}, err
	}
	var all struct { // server.JSInfo, whose other fields do not all come back from JSON
		Accounts []struct {
			Streams []server.StreamDetail `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return server.StreamDetail{}, fmt.Errorf("%s: %w", n.Name, err)
	}
	for _, a := range all.Accounts {
		for _, s := range a.Streams {
			if s.Name == name {
				return s, nil
			}
		}
	}
	return server.StreamDetail{}, fmt.Errorf("%s holds no stream %s", n.Name, name)
}

// ask returns the answer of a server's monitoring port.
func (n *Node) ask(ctx context.Context, path string) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, monitorLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.monitor+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Close = true // a connection from before a fault tells nothing about now
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err = io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", n.Name, resp.Status, body)
	}
	return body, err
}
