package endpoints

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

const (
	// quietLimit is how long the log may send nothing although it holds more.
	quietLimit = 30 * time.Second
	// stepEvery is the number of sequences between two steps of the progress.
	stepEvery = 1024
)

// pass reads the log once for all endpoints.
type pass struct {
	log     OwedLog
	tallies []*tally
	end     uint64 // last sequence to read
	step    func(done, total int64)
	owing   []owing // of one message
}

// owing is a tally whose endpoint may be owed a message.
type owing struct {
	*tally
	parked *lane // nil: its order is not parked
}

func (p *pass) run(ctx context.Context) error {
	after := p.end
	for _, a := range p.tallies {
		after = min(after, a.begin())
	}
	if after >= p.end {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := p.log.Follow(ctx, after)
	if err != nil {
		return err
	}
	quiet := time.NewTimer(quietLimit)
	defer quiet.Stop()
	for seq := after; seq < p.end; {
		quiet.Reset(quietLimit)
		select {
		case msg, open := <-in:
			if !open {
				return errors.Join(ctx.Err(), errors.New("the connection to the log has ended"))
			}
			msg.Ack()
			if seq, err = p.take(msg); err != nil {
				return err
			}
			if p.step != nil && (seq%stepEvery == 0 || seq >= p.end) {
				p.step(int64(min(seq, p.end)-after), int64(p.end-after))
			}
		case <-quiet.C:
			first, _, err := p.log.Bounds(ctx)
			if err != nil || first > p.end { // all that was left has aged out
				return err
			}
			return fmt.Errorf("the log has sent nothing for %s", quietLimit)
		}
	}
	return nil
}

// take gives a message to the tallies that it belongs to, and returns its sequence.
// One that nobody is owed is not decoded.
func (p *pass) take(msg *message.Message) (uint64, error) {
	seq, err := strconv.ParseUint(msg.Metadata.Get(pipeline.MetaSequence), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("message %s does not come from the log: %w", msg.UUID, err)
	}
	if seq > p.end {
		return seq, nil
	}
	if p.owed(seq, msg.Metadata.Get(pipeline.MetaSubject)); len(p.owing) == 0 {
		return seq, nil
	}
	e, err := pipeline.ReadEntry(msg)
	if errors.Is(err, pipeline.ErrPoison) { // nobody can get it; it goes to the dead letters
		return seq, nil
	}
	if err != nil {
		return seq, err
	}
	for _, o := range p.owing {
		o.add(&e, o.parked)
	}
	return seq, nil
}

// owed gathers the tallies that a message may belong to, as far as its place in the log
// says.
func (p *pass) owed(seq uint64, subject string) {
	p.owing = p.owing[:0]
	var key schema.OrderKey
	known := false
	for _, a := range p.tallies {
		if !a.concerns(seq) {
			continue
		}
		if !known && len(a.orders) > 0 {
			key, _, _ = schema.ParseSubject(subject) // of another subject it is nobody's parked order
			known = true
		}
		if owed, parked := a.owes(seq, key); owed {
			p.owing = append(p.owing, owing{a, parked})
		}
	}
}
