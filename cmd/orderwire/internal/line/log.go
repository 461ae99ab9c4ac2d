package line

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

const (
	// dirWait is how long a start waits for another process to give up the
	// data directory; a reader like `orderwire events` does so soon.
	dirWait = 10 * time.Second
	// giveUpAfter is how long a reader waits for the process that keeps the log
	// to come back before it looks for the log anew.
	giveUpAfter = 3 * time.Second
	// attachTimeout bounds finding a running server, or starting one to read.
	attachTimeout = 30 * time.Second
)

// openLog opens the log for writing: on the configured servers, or on an
// embedded one, which is returned to be closed after the log.
func openLog(ctx context.Context, c *config.Config, log *slog.Logger) (*jetstream.Log, *jetstream.Embedded, error) {
	if c.NATS.URL != "" {
		l, err := jetstream.Open(ctx, c.NATS.Log(string(c.NATS.URL), log))
		return l, nil, err
	}
	e, err := jetstream.StartEmbedded(ctx, jetstream.EmbeddedConfig{Dir: c.DataDir, Listen: c.NATS.Listen, Wait: dirWait, Logger: log})
	if errors.Is(err, jetstream.ErrDirInUse) {
		return nil, nil, fmt.Errorf("%w (is `orderwire run` running already? To run roles apart, set nats.url to a NATS server)", err)
	}
	if err != nil {
		return nil, nil, err
	}
	l, err := jetstream.Open(ctx, c.NATS.Log(e.URL(), log))
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	return l, e, nil
}

// Inspect says what Open would change about the streams: on the configured
// servers, or on the embedded server of a process that runs. It returns nil when
// the log is an embedded one that nobody runs.
func Inspect(ctx context.Context, c *config.Config) (*jetstream.Inspection, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	if c.NATS.URL != "" {
		found, err := jetstream.Inspect(ctx, c.NATS.Log(string(c.NATS.URL), nil))
		if err != nil {
			return nil, fmt.Errorf("nats: %w", err)
		}
		return found, nil
	}
	address, err := jetstream.RunningURL(c.DataDir)
	if err != nil {
		return nil, nil // nobody runs it
	}
	found, err := jetstream.Inspect(ctx, c.NATS.Log(address, nil))
	if err != nil {
		return nil, nil // an address that a crash left
	}
	return found, nil
}

// Reader is the log opened for reading, beside a running process or without.
type Reader struct {
	*jetstream.Log
	// Live is true when some other process or server keeps the log, so that
	// more can come; false when it was opened from the data directory alone.
	Live     bool
	embedded *jetstream.Embedded
}

// OpenReader opens the log to read: on the configured servers, on the embedded
// server of a running process, or else on an embedded server of its own, which
// reads what a process that has ended left in the data directory.
func OpenReader(ctx context.Context, c *config.Config, log *slog.Logger) (*Reader, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	if c.NATS.URL != "" {
		return attach(ctx, c, string(c.NATS.URL), log)
	}
	if _, err := os.Stat(c.DataDir); err != nil {
		return nil, fmt.Errorf("%w (data_dir %s does not exist)", jetstream.ErrNoLog, c.DataDir)
	}
	for {
		if url, err := jetstream.RunningURL(c.DataDir); err == nil {
			if r, err := attach(ctx, c, url, log); err == nil || errors.Is(err, jetstream.ErrNoLog) {
				return r, err
			}
		}
		r, err := readDirectory(ctx, c, log)
		if !errors.Is(err, jetstream.ErrDirInUse) || ctx.Err() != nil {
			return r, err
		}
	}
}

func attach(ctx context.Context, c *config.Config, url string, log *slog.Logger) (*Reader, error) {
	cfg := c.NATS.Log(url, log)
	cfg.ReadOnly = true
	if c.NATS.URL == "" {
		cfg.GiveUpAfter, cfg.Timeout = giveUpAfter, giveUpAfter // the process that keeps the log may end at any time
	}
	l, err := jetstream.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Reader{Log: l, Live: true}, nil
}

func readDirectory(ctx context.Context, c *config.Config, log *slog.Logger) (*Reader, error) {
	e, err := jetstream.StartEmbedded(ctx, jetstream.EmbeddedConfig{Dir: c.DataDir, Wait: time.Second, Logger: log})
	if err != nil {
		return nil, err
	}
	r, err := attach(ctx, c, e.URL(), log)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	r.Live, r.embedded = false, e
	return r, nil
}

// Close ends the connection and the embedded server, if there is one.
func (r *Reader) Close() error {
	err := r.Log.Close()
	if r.embedded != nil {
		err = errors.Join(err, r.embedded.Close())
	}
	return err
}
