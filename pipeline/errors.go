package pipeline

import (
	"errors"
	"fmt"
	"time"

	"github.com/orderwire/orderwire/schema"
)

// ErrPoison marks a message that no retry can make acceptable: it is
// unreadable, or a sink can never take it.
var ErrPoison = errors.New("unusable event")

// Errors of publishing, beside [*StaleError]. After any other error the outcome
// is unknown: the same call may be made again, and says [ErrStored] if the log
// has it already.
var (
	// ErrStored says that exactly these messages are in the log already: an
	// earlier call stored them, and its answer was lost. Nothing is left to do.
	ErrStored = errors.New("these messages are in the log already")
	// ErrNoQuorum says that the servers cannot store anything at present, for
	// example because most of a cluster is down. Nothing was stored; try later.
	ErrNoQuorum = errors.New("the log cannot take messages at present")
	// ErrTooLarge says that a message is larger than the server or the stream
	// takes; see [TooLargeError]. Trying again cannot help.
	ErrTooLarge = errors.New("message too large for the log")
	// ErrClosed says that the publisher or subscriber was closed.
	ErrClosed = errors.New("closed")
)

// StaleError is the log's refusal of a batch that was made from an outdated
// picture: another writer has added events of at least one of its orders.
// Nothing of the batch was stored, as far as the stream's leader knew when it was
// asked (in a cluster that changes its leader at that moment, the answer can be
// that of the old one). The writer loads the orders again and compares again,
// which is right in either case.
type StaleError struct {
	// Orders whose last event is another than the batch expected. Empty when
	// the log had moved on once more by the time it was asked, or when the
	// messages name no orders.
	Orders []schema.OrderKey
	Batch  int   // messages in the refused batch
	Cause  error // the server's answer
}

// Error says how large the refused batch was and names the first order.
func (e *StaleError) Error() string {
	which := ""
	if len(e.Orders) > 0 {
		which = fmt.Sprintf(" (%d of its orders, %s the first)", len(e.Orders), e.Orders[0])
	}
	return fmt.Sprintf("the log has moved on under a batch of %d%s: %v", e.Batch, which, e.Cause)
}

// Unwrap returns the server's answer.
func (e *StaleError) Unwrap() error { return e.Cause }

// TooLargeError names a message that the log never takes. Nothing of the call
// was stored. It wraps [ErrTooLarge].
type TooLargeError struct {
	Message string // its UUID
	Size    int    // bytes, headers included
	Limit   int    // bytes that the server and the stream take
}

// Error says how large the message is and what the limit is.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v: message %s has %d bytes, the limit is %d (max_payload of the NATS server, or the stream's maximum message size)",
		ErrTooLarge, e.Message, e.Size, e.Limit)
}

// Unwrap returns ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return ErrTooLarge }

// Known is what a writer keeps in memory of an order.
type Known struct {
	Sequence uint64 // of the order's last event in the stream; 0 when it aged out
	Version  uint64 // of the order's last event
	Content  uint64 // hash of the raw record that last gave no change
}

// State is the order's last event and where it stands.
type State struct {
	Event    *schema.Event // nil for an order that the log does not know
	Sequence uint64        // in the stream; 0 when there is none or it aged out
}

// DeadLetter is a message that a sink could not take, with the reason.
type DeadLetter struct {
	Sink     string // which sink or endpoint gave up
	Reason   string // why, without the payload
	Subject  string // subject of the message in the log, "" when it never got there
	Sequence uint64 // its sequence in the log, 0 when it never got there
	Attempts int    // deliveries tried
	Raw      []byte // the message as it was
}

// Buried is a dead letter as it is kept.
type Buried struct {
	DeadLetter
	At    time.Time // when it was given up
	Place uint64    // among the dead letters of all sinks
}
