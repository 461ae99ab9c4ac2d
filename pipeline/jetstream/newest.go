package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
)

// deadLook bounds how many dead letters one call of [Log.NewestDead] looks at.
const deadLook = 2000

// NewestDead returns dead letters from the newest backwards: of one sink or
// endpoint, or with "" of all. before is the place before which to begin, 0 for
// the newest. next is where to go on, 0 when there are no older ones; a sink that
// is rare among the others may have none on a page, and more behind it.
func (l *Log) NewestDead(ctx context.Context, sink string, before uint64, limit int) (letters []pipeline.Buried, next uint64, err error) {
	stream, err := l.js.Stream(ctx, DeadStreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("stream %s: %w", DeadStreamName, err)
	}
	held := stream.CachedInfo().State
	place := held.LastSeq
	if before > 0 {
		place = min(place, before-1)
	}
	for looked := 0; place >= held.FirstSeq && place > 0 && looked < deadLook && len(letters) < limit; looked++ {
		d, found, err := letterAt(ctx, stream, place)
		if err != nil {
			return nil, 0, err
		}
		if found && (sink == "" || d.Sink == sink) {
			letters = append(letters, d)
		}
		place--
	}
	if place < held.FirstSeq || place == 0 {
		return letters, 0, nil
	}
	return letters, place + 1, nil
}
