package pipeline

import (
	"errors"
	"fmt"

	"github.com/orderwire/orderwire/schema"
)

// ErrPoison marks a message that no retry can make acceptable: it is
// unreadable, or a sink can never take it.
var ErrPoison = errors.New("unusable event")

// StaleError is the log's refusal of a batch that was made from an outdated
// picture: another writer has added events of at least one of its orders, or
// this very batch is in the log already. Nothing of the batch was stored. The
// writer loads the orders again and compares again.
type StaleError struct {
	Orders int   // orders in the refused batch
	Cause  error // the server's answer
}

// Error says how large the refused batch was.
func (e *StaleError) Error() string {
	return fmt.Sprintf("the log has moved on under a batch of %d orders: %v", e.Orders, e.Cause)
}

// Unwrap returns the server's answer.
func (e *StaleError) Unwrap() error { return e.Cause }

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
