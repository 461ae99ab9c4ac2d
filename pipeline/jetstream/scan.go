package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	// scanLanes is the number of consumers that read a stream side by side; the
	// server serves each from one goroutine.
	scanLanes = 2
	// fewest is the number of messages for which one consumer is enough.
	fewest = 10_000
	// scanAhead is the number of messages that a consumer asks for at a time.
	scanAhead = 8192
	// silence is how long nothing may come before the stream is looked at again:
	// what was waited for can have aged out meanwhile.
	silence = 2 * time.Second
)

// taker gets a message of a lane with its sequence. Lanes run side by side.
type taker func(lane int, seq uint64, m jetstream.Msg) error

// scan gives the headers of all messages from a sequence to the present end of
// a stream, in the stream's order within each lane.
func (l *Log) scan(ctx context.Context, stream string, from uint64, take taker) error {
	s, err := l.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	state := s.CachedInfo().State
	from = max(from, state.FirstSeq)
	if state.Msgs == 0 || from > state.LastSeq {
		return nil
	}
	share := state.LastSeq - from + 1
	if share >= fewest {
		share = (share + scanLanes - 1) / scanLanes
	}
	group, ctx := errgroup.WithContext(ctx)
	for lane := 0; from <= state.LastSeq; lane++ {
		part := scanPart{stream: s, from: from, to: min(from+share-1, state.LastSeq)}
		from = part.to + 1
		group.Go(func() error {
			return part.run(ctx, l.js, func(seq uint64, m jetstream.Msg) error { return take(lane, seq, m) })
		})
	}
	return group.Wait()
}

// scanPart is the reading of a range of sequences, both ends included.
type scanPart struct {
	stream   jetstream.Stream
	from, to uint64
}

func (p *scanPart) run(ctx context.Context, js jetstream.JetStream, take func(seq uint64, m jetstream.Msg) error) error {
	cons, err := js.OrderedConsumer(ctx, p.stream.CachedInfo().Config.Name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: p.from, HeadersOnly: true,
	})
	if err != nil {
		return err
	}
	defer discard(ctx, p.stream, cons)
	if cons.CachedInfo().NumPending == 0 { // trimmed meanwhile
		return nil
	}
	done, heard := make(chan error, 1), make(chan struct{}, 1)
	ended := false // belongs to the callback: what comes behind the end is not for us
	cc, err := cons.Consume(func(m jetstream.Msg) {
		if ended {
			return
		}
		at, _, err := locate(m.Reply())
		if err == nil && at.sequence <= p.to {
			err = take(at.sequence, m)
		}
		if ended = err != nil || at.pending == 0 || at.sequence >= p.to; ended {
			done <- err
			return
		}
		select {
		case heard <- struct{}{}:
		default:
		}
	}, jetstream.PullMaxMessages(scanAhead))
	if err != nil {
		return err
	}
	defer cc.Stop()
	return p.wait(ctx, done, heard, cc.Closed())
}

// wait returns when the part was read.
func (p *scanPart) wait(ctx context.Context, done <-chan error, heard, cut <-chan struct{}) error {
	quiet := time.NewTicker(silence)
	defer quiet.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-heard:
			quiet.Reset(silence)
		case <-quiet.C:
			info, err := p.stream.Info(ctx)
			if err == nil && info.State.FirstSeq > p.to {
				return nil // all that was left has aged out
			}
		case <-cut:
			return errors.New("the scan was cut off by the server")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// discard takes a consumer off the server, which would keep it for minutes. It
// is of no importance whether that works.
func discard(ctx context.Context, s jetstream.Stream, cons jetstream.Consumer) {
	if info := cons.CachedInfo(); info != nil {
		_ = s.DeleteConsumer(context.WithoutCancel(ctx), info.Name)
	}
}
