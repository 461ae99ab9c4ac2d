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

// fatal reports whether nothing follows.
func (p *Parsed) fatal() bool { return p.Err != nil && !errors.Is(p.Err, ErrPoison) }

func parse(msg *message.Message) Parsed {
	msg.Ack()
	e, err := ReadEntry(msg)
	return Parsed{&e, err}
}

const (
	// parsedMost is the most messages that are parsed before they are handed over: to
	// hand over one by one costs more than the parsing of a few.
	parsedMost = 32
	// parsedAhead is how many handovers may wait for their reader.
	parsedAhead = 2
)

// parseSome parses a message, and those that are there as well up to parsedMost. An
// error that ends the reading comes last.
func parseSome(msg *message.Message, in <-chan *message.Message) []Parsed {
	some := make([]Parsed, 0, min(len(in)+1, parsedMost))
	for {
		some = append(some, parse(msg))
		if len(some) == cap(some) || last(some).fatal() {
			return some
		}
		msg = <-in // nobody else receives, and it is not closed before it is empty
	}
}

func last(some []Parsed) *Parsed { return &some[len(some)-1] }

// parsed opens the log as f does, and parses.
func (f Follow) parsed(ctx context.Context, after uint64) (<-chan []Parsed, error) {
	in, err := f(ctx, after)
	if err != nil {
		return nil, err
	}
	out := make(chan []Parsed, parsedAhead)
	go func() {
		defer close(out)
		for msg := range in { // closed when ctx ends
			select {
			case out <- parseSome(msg, in):
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}
