package pipeline

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/schema"
)

// Parsed is a message of the log, parsed once for all who read it: nobody may
// change the entry.
type Parsed struct {
	Entry *schema.Entry
	// Err wraps [ErrPoison] when only the event is unreadable: the entry has its
	// sequence and raw bytes all the same. Any other ends the reading.
	Err error
}

func (p Parsed) poison() bool { return errors.Is(p.Err, ErrPoison) }

func parse(msg *message.Message) Parsed {
	msg.Ack()
	e, err := ReadEntry(msg)
	return Parsed{&e, err}
}

// parsedAhead is how many messages are parsed ahead of their reader.
const parsedAhead = 64

// parsed opens the log as f does, and parses.
func (f Follow) parsed(ctx context.Context, after uint64) (<-chan Parsed, error) {
	in, err := f(ctx, after)
	if err != nil {
		return nil, err
	}
	out := make(chan Parsed, parsedAhead)
	go func() {
		defer close(out)
		for msg := range in { // closed when ctx ends
			select {
			case out <- parse(msg):
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}
