package pipeline

import (
	"context"

	"github.com/orderwire/orderwire/schema"
)

// A Sink takes the log in order and remembers how far it got.
//
// The runner calls Position first and again after every error, then Write with
// entries of ascending sequence, all behind that position. Calls never overlap.
// Whatever a sink held in memory is void when Position is called again: the
// same entries come once more.
type Sink interface {
	// Position returns the sequence of the last entry whose effects are
	// durable, 0 for none. The sink forgets what it holds beyond it.
	Position(ctx context.Context) (uint64, error)
	// Write takes a batch. The sink may hold it in memory until Flush, or make
	// it durable at once. It keeps neither the slice nor the entries' Raw. An
	// error with a method PoisonSequence() uint64 names an entry that the sink
	// can never take: it is put into the dead letters, and the others come again.
	Write(ctx context.Context, batch []schema.Entry) error
	// Flush makes all that was written durable. The runner calls it when
	// entries have been held for the sink's flush interval, when the log is
	// drained, and at shutdown.
	Flush(ctx context.Context) error
}

// A Deliverer hands one event to an outside receiver. Calls for different
// orders may overlap; those for one order never do and come in log order.
//
// A nil error means delivered, or none of the receiver's business. An error
// that has a method RetryAfter() time.Duration asks for at least that pause, for
// all deliveries; one whose Permanent() bool is true is not retried. Status() int
// is that of an HTTP answer: 429, 502, 503 and 504 slow the endpoint down, and 410
// disables it. Excerpt() []byte is the beginning of its body, and Reason() string
// what failed in a few words, both for the attempt log.
type Deliverer interface {
	Deliver(ctx context.Context, e *schema.Entry) error
}

// Answering is a [Deliverer] that also tells the status of the receiver's answer, 0
// for none. Attempt is called in place of Deliver then, with the same meaning.
type Answering interface {
	Attempt(ctx context.Context, e *schema.Entry) (status int, err error)
}

// Sending is a [Deliverer] that has a [Sender] make its attempts: one for each
// delivery that may be under way.
type Sending interface {
	Sender() Sender
}

// Sender makes attempts one after another, in one goroutine, and may keep from one to
// the next what they need. Close is called when no more follow.
type Sender interface {
	Answering
	Close()
}
