package archive

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/orderwire/orderwire/schema"
)

// errCrash is the end of the process in tests.
var errCrash = errors.New("crashed")

// crasher stops a process before one of its changes on disk; no later change
// happens. With torn, the file of that change loses its second half, as a file
// may that was never synced.
type crasher struct {
	at   int // number of the change, from 0; -1: never
	torn bool
	ops  []string
	dead bool
}

func (c *crasher) before(op, path string) error {
	if c.dead {
		return errCrash
	}
	if len(c.ops) == c.at {
		c.dead = true
		if op == "sync" && c.torn {
			if info, err := os.Stat(path); err == nil {
				_ = os.Truncate(path, info.Size()/2)
			}
		}
		return errCrash
	}
	c.ops = append(c.ops, op+" "+path)
	return nil
}

// runUntil opens an archive and writes the log from its position, batch by
// batch, flushing at the given sequences and at the end. It returns the first
// error, after which the process is gone.
func runUntil(ctx context.Context, cfg Config, log []schema.Entry, batch int, flush []uint64, before func(op, path string) error) error {
	at, err := openAt(ctx, cfg.Dir, before)
	if err != nil {
		return err
	}
	a, err := openPlace(ctx, cfg, at)
	if err != nil {
		return err
	}
	defer func() { _ = a.lock.Close() }()
	position, err := a.Position(ctx)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(behind(log, position), batch) {
		if err := a.Write(ctx, part); err != nil {
			return err
		}
		if slices.Contains(flush, part[len(part)-1].Sequence) {
			if err := a.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return a.Flush(ctx)
}
