package line

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/config"
	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// holdWait is how long [Hold] waits for another process to give up the data
// directory; a reader like `orderwire events` does so soon.
const holdWait = 2 * time.Second

// BusyError says that another process does a sink's work.
type BusyError struct {
	Sink   Role
	Holder string // the process, for people
}

// Error says who is in the way and what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("sink %s belongs to another process (%s): stop that `orderwire run` and start it again afterwards", e.Sink, e.Holder)
}

// Held is the log and the right to do a sink's work, which no other process does
// until it is closed.
type Held struct {
	*Reader
	release func() error // gives the lease back; nil with an embedded log
}

// Hold opens the log and takes a sink's work. The context is the one to work
// under: it ends when another process takes the work over. The error is a
// [BusyError] while one has it.
func Hold(ctx context.Context, c *config.Config, sink Role, log *slog.Logger) (context.Context, *Held, error) {
	if c.NATS.URL == "" {
		h, err := holdDirectory(ctx, c, sink, log)
		return ctx, h, err
	}
	r, err := attach(ctx, c, string(c.NATS.URL), log)
	if err != nil {
		return nil, nil, err
	}
	h := &Held{Reader: r}
	held, err := h.acquire(ctx, sink, log)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return held, h, nil
}

// holdDirectory starts the embedded server, which one process at a time can.
func holdDirectory(ctx context.Context, c *config.Config, sink Role, log *slog.Logger) (*Held, error) {
	e, err := jetstream.StartEmbedded(ctx, jetstream.EmbeddedConfig{Dir: c.DataDir, Wait: holdWait, Logger: log})
	if errors.Is(err, jetstream.ErrDirInUse) {
		return nil, &BusyError{Sink: sink, Holder: "it uses data_dir " + c.DataDir}
	}
	if err != nil {
		return nil, err
	}
	l, err := jetstream.Open(ctx, c.NATS.Log(e.URL(), log))
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &Held{Reader: &Reader{Log: l, embedded: e}}, nil
}

func (h *Held) acquire(ctx context.Context, sink Role, log *slog.Logger) (context.Context, error) {
	leases, err := h.Leases(ctx, jetstream.LeaseConfig{Logger: log})
	if err != nil {
		return nil, err
	}
	held, lease, err := leases.TryAcquire(ctx, (&part{kind: "sink", name: string(sink)}).lease())
	if err != nil {
		leases.Close()
	}
	var other *jetstream.HeldError
	if errors.As(err, &other) {
		return nil, &BusyError{Sink: sink, Holder: other.Holder}
	}
	if err != nil {
		return nil, err
	}
	h.release = func() error {
		defer leases.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
		defer cancel()
		return lease.Release(ctx)
	}
	return held, nil
}

// Close gives the work back and closes the log.
func (h *Held) Close() error {
	var err error
	if h.release != nil {
		err = h.release()
	}
	return errors.Join(err, h.Reader.Close())
}
