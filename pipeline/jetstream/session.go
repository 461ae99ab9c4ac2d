package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Reasons for which a session ends and another begins.
var (
	errGap         = errors.New("a delivery was missed")
	errReconnected = errors.New("the connection was interrupted")
	errSilent      = errors.New("the server was silent")
	errConsumeEnds = errors.New("the server ended the subscription")
	errForeignAck  = errors.New("somebody else acknowledges messages of this consumer")
)

// The window is looked through for what readers settled after a pause between
// these: the shorter one while they settle something.
const (
	minSweep = time.Millisecond
	maxSweep = 16 * time.Millisecond
)

// floorEvery is how often the server is asked how far the consumer got.
const floorEvery = time.Second

// session is a subscription to a durable consumer from one start of consuming
// to its end. One goroutine runs it; the client's callback feeds it.
type session struct {
	*durable
	cc     jetstream.ConsumeContext
	closed <-chan struct{}
	win    *window

	failed  chan error    // why it cannot go on
	check   chan struct{} // asks whether the consumer is there
	settled atomic.Bool   // since the server was last asked how far it got
	acked   atomic.Uint64 // ack-all: consumer sequence of the newest acknowledgement
	active  sync.WaitGroup
	resume  *time.Timer
}

// begin starts consuming. next is the consumer sequence that is to come first.
func (r *durable) begin(ctx context.Context, next uint64) (*session, error) {
	s := &session{
		durable: r, failed: make(chan error, 1), check: make(chan struct{}, 1), resume: time.NewTimer(0),
		win: &window{
			out: r.out, size: r.cfg.Window, ordered: r.cfg.ordered(), ackAll: r.cfg.AckAll, next: next, wake: make(chan struct{}, 1),
		},
	}
	s.acked.Store(next - 1)
	s.settled.Store(true) // a consumer that is just being deleted may still have been found
	opts := append(r.pullOptions(r.cfg.Window), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { s.consumeError(err) }))
	var err error
	if s.cc, err = r.cons.Consume(func(m jetstream.Msg) { s.receive(ctx, m) }, opts...); err != nil {
		return nil, err
	}
	s.closed = s.cc.Closed()
	s.active.Go(func() { s.observe(ctx) })
	return s, nil
}

// receive takes a message from the client.
func (s *session) receive(ctx context.Context, m jetstream.Msg) {
	p, text, err := locate(m.Reply())
	if err != nil {
		s.fail(err)
		return
	}
	d := &delivery{place: p, raw: m}
	var unreadable error
	if d.msg, unreadable = unwrap(m, text); unreadable != nil {
		d.grave = dying
	}
	d.take(ctx)
	taken, err := s.win.put(d)
	switch {
	case err != nil:
		s.fail(err)
	case !taken:
		s.giveBack(m)
	case unreadable != nil:
		s.bury(ctx, d, unreadable.Error())
	}
}

// run settles what the reader has settled until the session is to end, and says
// why it ends.
func (s *session) run(ctx context.Context, reconnected <-chan nats.Status) error {
	progress := time.NewTicker(s.cfg.AckWait / 3)
	defer progress.Stop()
	sweep, every := time.NewTimer(minSweep), minSweep
	defer sweep.Stop()
	for {
		if s.settle(ctx) {
			every = minSweep
		} else {
			every = min(2*every, maxSweep)
		}
		ack, nack, busy := s.win.watch()
		var due <-chan time.Time
		if busy {
			sweep.Reset(every)
			due = sweep.C
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.failed:
			return err
		case <-s.closed:
			return errConsumeEnds
		case <-reconnected:
			if s.cfg.ordered() {
				return errReconnected
			}
		case <-progress.C:
			s.inProgress()
		case <-s.resume.C:
			s.win.resume()
		case <-s.win.wake:
		case <-ack:
		case <-nack:
		case <-due:
		}
	}
}

// settle passes on to the server what the reader settled, if anything.
func (s *session) settle(ctx context.Context) bool {
	if s.cfg.AckAll {
		done, refused := s.win.sweepAll()
		s.ackAll(done)
		if refused != nil {
			s.refuse(ctx, refused)
		}
		return len(done) > 0 || refused != nil
	}
	done, refused := s.win.sweep()
	for _, d := range done {
		d.end()
		s.sent(s.ackOne(d))
	}
	for _, d := range refused {
		s.refuse(ctx, d)
	}
	return len(done)+len(refused) > 0
}

// ackAll acknowledges messages from the oldest on: with one acknowledgement, or
// with one each where a reader that was replaced might still send its own.
func (s *session) ackAll(done []*delivery) {
	if len(done) == 0 {
		return
	}
	for _, d := range done {
		d.end()
		if s.cfg.Pinned {
			s.sent(s.ackOne(d))
		}
	}
	last := done[len(done)-1]
	s.acked.Store(last.consumer)
	if !s.cfg.Pinned {
		s.sent(last.raw.Ack())
		s.last = last.raw
	}
	s.raiseFloor(last.sequence)
}

func (s *session) ackOne(d *delivery) error {
	if d.grave == buried {
		return d.raw.Term()
	}
	return d.raw.Ack()
}

// refuse lets a nacked message come again, or gives it up.
func (s *session) refuse(ctx context.Context, d *delivery) {
	d.nacks++
	tries := d.count
	if s.cfg.AckAll {
		tries = d.nacks
	}
	if s.cfg.MaxDeliver > 0 && tries >= s.cfg.MaxDeliver {
		s.win.keep(d)
		s.bury(ctx, d, fmt.Sprintf("refused %d times", tries))
		return
	}
	if s.cfg.AckAll {
		s.win.rewind(ctx, d)
		s.resume.Reset(s.cfg.NackDelay)
		return
	}
	d.end()
	s.sent(d.raw.NakWithDelay(s.cfg.NackDelay))
}

// inProgress tells the server that what is not settled is being worked on.
func (s *session) inProgress() {
	for _, m := range s.win.unsettled() {
		s.sent(m.InProgress())
	}
}

// sent notes the outcome of sending something about a message.
func (s *session) sent(err error) {
	s.settled.Store(true)
	if err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		s.log.cfg.Logger.Warn("acknowledgement did not leave, the message will come again", "consumer", s.name, "error", err)
	}
}

// giveBack lets the server deliver a message again at once, to whoever reads
// next. Without it the server would wait for AckWait. An ordered consumer is
// set back at the next start, which gives back all at once.
func (s *session) giveBack(m jetstream.Msg) {
	if s.cfg.ordered() {
		return
	}
	if err := m.Nak(); err != nil {
		s.log.cfg.Logger.Debug("message not given back, it comes again after AckWait", "error", err)
	}
}

// end stops consuming, settles what the reader settled meanwhile, and gives the
// rest back. Afterwards nothing of the session is in the channel.
func (s *session) end(ctx context.Context) {
	s.resume.Stop()
	s.settle(ctx)
	rest := s.win.close()
	if s.cfg.ordered() {
		s.cc.Stop()
	} else {
		s.cc.Drain() // what the client has fetched comes to receive, which gives it back
	}
	for _, d := range rest {
		s.giveBack(d.raw)
	}
	select {
	case <-s.closed:
	case <-time.After(drainLimit): // without a connection there is nobody to give it back to
	}
	s.active.Wait()
}

// drainLimit bounds how long the end of a subscription waits for the server.
const drainLimit = 2 * time.Second

// fail ends the session; the first reason counts.
func (s *session) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}
