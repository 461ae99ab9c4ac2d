package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// patience is how long the log may send nothing although it holds more.
const patience = 30 * time.Second

// fromLog reads the log up to the end of the range, or to where it has lost
// events since.
func (x *reading) fromLog(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := x.Log.Follow(ctx, x.next-1)
	if err != nil {
		return err
	}
	quiet := time.NewTimer(patience)
	defer quiet.Stop()
	for x.next <= x.r.Until && !x.stopped {
		quiet.Reset(patience) // here, as whoever takes the events may be slow
		select {
		case msg, open := <-in:
			if !open {
				return errors.Join(ctx.Err(), errors.New("the connection to the log has ended"))
			}
			if lost, err := x.fromMessage(ctx, msg); lost || err != nil {
				return err
			}
		case <-quiet.C:
			return fmt.Errorf("the log has sent nothing for %s", patience)
		}
	}
	return nil
}

// fromMessage hands a message over. It returns true when the log has lost what
// comes before it.
func (x *reading) fromMessage(ctx context.Context, msg *message.Message) (lost bool, err error) {
	msg.Ack()
	e, err := x.read(msg)
	if e.Sequence == 0 {
		return false, err
	}
	if e.Sequence > x.next {
		if first, _, err := x.Log.Bounds(ctx); err != nil || first > x.next {
			return true, err
		}
	}
	if e.Sequence < x.next {
		return false, nil
	}
	x.next = e.Sequence + 1
	switch {
	case e.Sequence > x.r.Until, err == nil && e.Raw == nil:
	case err != nil:
		x.Logger.Warn("passed over", "sequence", e.Sequence, "error", err)
	case x.r.wants(&e):
		x.take(e)
	}
	if e.Sequence%1024 == 0 {
		x.reached(e.Sequence)
	}
	return false, nil
}

// read unwraps a message; of one whose id is not wanted, the sequence alone.
func (x *reading) read(msg *message.Message) (schema.Entry, error) {
	if x.r.mentions(msg.Payload) {
		return pipeline.ReadEntry(msg)
	}
	sequence, err := strconv.ParseUint(msg.Metadata.Get(pipeline.MetaSequence), 10, 64)
	return schema.Entry{Sequence: sequence}, err
}

// begin passes over what the log stored before Since, if the log reaches back
// that far: then nothing before its first event is wanted.
func (x *reading) begin(ctx context.Context) error {
	if x.r.Since.IsZero() || x.Log == nil {
		return nil
	}
	first, last, err := x.Log.Bounds(ctx)
	if err != nil || first > last || first <= x.next {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	in, err := x.Log.Follow(ctx, first-1)
	if err != nil {
		return err
	}
	select {
	case msg, open := <-in:
		if !open {
			return errors.New("the connection to the log has ended")
		}
		msg.Ack()
		e, err := pipeline.ReadEntry(msg)
		if err == nil && !e.Stored.After(x.r.Since) {
			x.next = e.Sequence
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
