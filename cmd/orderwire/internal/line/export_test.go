package line

import (
	"errors"
	"time"

	"github.com/orderwire/orderwire/pipeline"
)

// SetClock puts another clock in the place of the system's.
func (l *Line) SetClock(now func() time.Time) { l.now = now }

// CloseBooks closes the books behind the back of the line.
func (l *Line) CloseBooks() error { return l.books.Close() }

// Disconnect ends the connection to the log, and the embedded server.
func (l *Line) Disconnect() error { return errors.Join(l.orders.Close(), l.embedded.Close()) }

// Stalled asks as [Line.Alive] does about a sink whose progress is this.
func (l *Line) Stalled(name string, position, taken uint64, failure string) time.Duration {
	at := pipeline.Progress{Position: position, Written: taken, Failure: failure}
	return l.stalls.look(name, at, l.now(), l.begun)
}
