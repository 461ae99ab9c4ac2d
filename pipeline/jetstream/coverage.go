package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/schema"
)

// ReadCoverage hands over the closed windows that were stored behind a place, 0
// for all of them, in the order in which they were stored: the account's name and
// what SaveCoverage stored. It returns the place to go on from. A window that was
// closed several times comes as it was closed last.
func (l *Log) ReadCoverage(ctx context.Context, behind uint64, take func(account string, window []byte) error) (uint64, error) {
	windows, err := l.kv[CoverageBucket].WatchAll(ctx, jetstream.ResumeFromRevision(behind+1))
	if err != nil {
		return behind, fmt.Errorf("bucket %s: %w", CoverageBucket, err)
	}
	defer func() { _ = windows.Stop() }() // it was only read
	for {
		select {
		case <-ctx.Done():
			return behind, ctx.Err()
		case w, open := <-windows.Updates():
			if !open {
				return behind, errors.Join(ctx.Err(), errWatchEnded)
			}
			if w == nil { // that was all there was
				return behind, nil
			}
			if err := takeWindow(w, take); err != nil {
				return behind, fmt.Errorf("bucket %s, key %s: %w", CoverageBucket, w.Key(), err)
			}
			behind = w.Revision()
		}
	}
}

var errWatchEnded = errors.New("the connection to the log has ended")

func takeWindow(w jetstream.KeyValueEntry, take func(account string, window []byte) error) error {
	if w.Operation() != jetstream.KeyValuePut {
		return nil
	}
	escaped, _, _ := strings.Cut(w.Key(), ".")
	account, err := schema.UnescapeToken(escaped)
	if err != nil {
		return err
	}
	return take(account, w.Value())
}
