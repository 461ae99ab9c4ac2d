package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"

	"github.com/orderwire/orderwire/schema"
)

// Follow opens the log behind a sequence, 0 for its beginning. The channel
// closes when ctx ends.
type Follow func(ctx context.Context, after uint64) (<-chan *message.Message, error)

// Bury stores a message that a sink cannot take, durably.
type Bury func(ctx context.Context, d DeadLetter) error

// stopGrace bounds the last flush at shutdown.
const stopGrace = 8 * time.Second

// Runner feeds one [Sink] from the log. Create it with [NewRunner].
type Runner struct {
	cfg      RunnerConfig
	drain    drain
	position atomic.Uint64
	written  atomic.Uint64
	failed   atomic.Pointer[string]
	poison   map[uint64]error // entries that the sink can never take; belongs to Run
}

// RunnerConfig says what to feed and how.
type RunnerConfig struct {
	Name   string // of the sink, for logs and dead letters
	Sink   Sink
	Follow Follow
	Bury   Bury
	// MaxBatch is the most entries in one Write; 0 means 1000.
	MaxBatch int
	// FlushEvery is how long written entries may stay unflushed; 0 means 1 s.
	FlushEvery time.Duration
	// Retention notices events that the log no longer holds; see [GapError].
	Retention Retention
	// Logger gets failures. Nil discards them.
	Logger *slog.Logger
}

// NewRunner returns a runner that has not begun.
func NewRunner(cfg RunnerConfig) *Runner {
	if cfg.MaxBatch == 0 {
		cfg.MaxBatch = 1000
	}
	if cfg.FlushEvery == 0 {
		cfg.FlushEvery = time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runner{cfg: cfg, drain: newDrain(), poison: make(map[uint64]error)}
}

// Progress tells how far a sink is.
type Progress struct {
	Name     string
	Position uint64 // last sequence whose effects are durable
	Written  uint64 // entries handed over since the start, repeated ones included
	Failure  string // why it stands still, "" when it does not
	// Delivery is filled in by a [Courier] only.
	Delivery Delivery
}

// Progress may be called at any time from any goroutine.
func (r *Runner) Progress() Progress {
	p := Progress{Name: r.cfg.Name, Position: r.position.Load(), Written: r.written.Load()}
	if s := r.failed.Load(); s != nil {
		p.Failure = *s
	}
	return p
}

// Drain asks the runner to end once everything up to a sequence is durable,
// and waits for that. A [GapError] ends the waiting, as it does not pass by
// itself. Call it once.
func (r *Runner) Drain(ctx context.Context, upTo uint64) error {
	if err := r.drain.ask(ctx, upTo); err != nil {
		return fmt.Errorf("sink %s: drain: %w", r.cfg.Name, err)
	}
	return nil
}

// deposed reports whether ctx has ended for a reason of its own, as that of a
// lost lease does: another process may be at work already, and whatever this one
// still does would be in its way.
func deposed(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded)
}

// Run feeds the sink until ctx ends or the log is drained; what the sink holds
// is flushed then, unless ctx ended with a cause of its own (see
// [context.WithCancelCause]): then another process has the work. A failing sink is retried for ever with growing pauses, from
// its own position: the log holds the events meanwhile.
func (r *Runner) Run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = 30 * time.Second
	for {
		before := r.position.Load()
		err := r.session(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // whatever was cut off by the end of ctx is no failure
		}
		if r.position.Load() > before {
			pause.Reset()
		}
		if r.setAside(err) {
			continue
		}
		wait := pause.NextBackOff()
		text := err.Error()
		r.failed.Store(&text)
		r.drain.refuse(err)
		r.cfg.Logger.Error("sink stands still, the log holds its events", "sink", r.cfg.Name, "error", err, "again_in", wait)
		if !pauseFor(ctx, wait) {
			return nil
		}
	}
}

// drain is a request to end at a sequence, made once and from outside. It
// outlives the passes that fail before they get there.
type drain struct {
	upTo    uint64 // set before asked is closed
	asked   chan struct{}
	done    chan struct{}
	refused chan error
}

func newDrain() drain {
	return drain{asked: make(chan struct{}), done: make(chan struct{}), refused: make(chan error)}
}

func (d *drain) ask(ctx context.Context, upTo uint64) error {
	d.upTo = upTo
	close(d.asked)
	select {
	case <-d.done:
		return nil
	case err := <-d.refused:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refuse tells one who waits for the end that a gap is in the way.
func (d *drain) refuse(err error) {
	var gap *GapError
	if !errors.As(err, &gap) {
		return
	}
	select {
	case d.refused <- err:
	default: // nobody waits yet
	}
}

// setAside remembers an entry that the sink can never take, so that the next
// session buries it. It returns false for any other error.
func (r *Runner) setAside(err error) bool {
	var poison interface {
		error
		PoisonSequence() uint64
	}
	if !errors.As(err, &poison) || r.poison[poison.PoisonSequence()] != nil {
		return false
	}
	r.poison[poison.PoisonSequence()] = poison
	r.cfg.Logger.Error("an event cannot be taken by the sink; it goes to the dead letters", "sink", r.cfg.Name, "error", err)
	return true
}

// session follows the log from the sink's position until something fails.
func (r *Runner) session(parent context.Context) error {
	done := r.watch("position")
	position, err := r.cfg.Sink.Position(parent)
	done()
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	r.position.Store(position)
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	last, err := r.cfg.Retention.behind(ctx, "sink "+r.cfg.Name, position)
	if err != nil {
		return err
	}
	in, err := r.cfg.Follow(ctx, last)
	if err != nil {
		return err
	}
	s := &session{Runner: r, in: in, last: last, batch: make([]schema.Entry, 0, r.cfg.MaxBatch)}
	return s.loop(ctx)
}

// session is the state of one pass over the log; one goroutine owns it.
type session struct {
	*Runner
	in     <-chan *message.Message
	batch  []schema.Entry
	last   uint64      // sequence of the last entry written
	dirty  bool        // something was written and not flushed
	timer  *time.Timer // runs while dirty
	target *uint64     // drain up to here
}

func (s *session) loop(ctx context.Context) error {
	s.timer = time.NewTimer(time.Hour)
	s.timer.Stop()
	defer s.timer.Stop()
	draining := s.drain.asked
	for {
		if s.target != nil && s.last >= *s.target {
			return s.finish(ctx)
		}
		select {
		case msg, open := <-s.in:
			if !open {
				return s.closed(ctx)
			}
			if err := s.take(ctx, msg); err != nil {
				return err
			}
		case <-s.timer.C:
			if err := s.flush(ctx); err != nil {
				return err
			}
		case <-draining:
			draining, s.target = nil, &s.drain.upTo
		case <-ctx.Done():
			return s.closed(ctx)
		}
	}
}

// closed flushes at shutdown, unless another process has the work; a channel that closes otherwise is an error.
func (s *session) closed(ctx context.Context) error {
	if ctx.Err() == nil {
		return errors.New("the log closed the subscription")
	}
	if deposed(ctx) {
		return nil
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if err := s.flush(grace); err != nil {
		s.cfg.Logger.Warn("last flush failed, the entries come again at the next start", "sink", s.cfg.Name, "error", err)
	}
	return nil
}

// finish ends a drained session for good.
func (s *session) finish(ctx context.Context) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	close(s.drain.done)
	return nil
}

// take writes a message and all that wait behind it, up to a batch.
func (s *session) take(ctx context.Context, msg *message.Message) error {
	s.batch = s.batch[:0]
	for {
		if err := s.add(ctx, msg); err != nil {
			return s.rescue(ctx, err)
		}
		if len(s.batch) == s.cfg.MaxBatch {
			return s.write(ctx)
		}
		select {
		case next, open := <-s.in:
			if open {
				msg = next
				continue
			}
		default:
		}
		return s.write(ctx)
	}
}

// rescue makes durable what came before a gap, since it may be in the log no
// longer either.
func (s *session) rescue(ctx context.Context, err error) error {
	var gap *GapError
	if !errors.As(err, &gap) {
		return err
	}
	if failed := s.write(ctx); failed != nil {
		return errors.Join(err, failed)
	}
	return errors.Join(err, s.flush(ctx))
}

// add unwraps a message. An unreadable one goes to the dead letters, and the
// sink never hears of it.
func (s *session) add(ctx context.Context, msg *message.Message) error {
	msg.Ack()
	e, err := ReadEntry(msg)
	if e.Sequence > s.last+1 { // the log may have lost what is between, only just
		if _, err := s.cfg.Retention.behind(ctx, "sink "+s.cfg.Name, s.last); err != nil {
			return err
		}
	}
	if aside := s.poison[e.Sequence]; aside != nil && err == nil {
		err = fmt.Errorf("%w: %w", ErrPoison, aside)
	}
	switch {
	case errors.Is(err, ErrPoison):
		s.last = max(s.last, e.Sequence)
		return s.cfg.Bury(ctx, DeadLetter{
			Sink: s.cfg.Name, Reason: err.Error(), Subject: e.Subject, Sequence: e.Sequence, Attempts: 1, Raw: e.Raw,
		})
	case err != nil:
		return err
	case e.Sequence > s.last:
		s.batch = append(s.batch, e)
		s.last = e.Sequence
	}
	return nil
}

func (s *session) write(ctx context.Context) error {
	if len(s.batch) == 0 {
		return nil
	}
	done := s.watch("write")
	err := s.cfg.Sink.Write(ctx, s.batch)
	done()
	if err != nil {
		return fmt.Errorf("write of sequences %d to %d: %w", s.batch[0].Sequence, s.last, err)
	}
	s.written.Add(uint64(len(s.batch)))
	s.failed.Store(nil)
	if !s.dirty {
		s.dirty = true
		s.timer.Reset(s.cfg.FlushEvery)
	}
	return nil
}

func (s *session) flush(ctx context.Context) error {
	if !s.dirty {
		return nil
	}
	s.timer.Stop()
	s.dirty = false
	done := s.watch("flush")
	err := s.cfg.Sink.Flush(ctx)
	done()
	if err != nil {
		return fmt.Errorf("flush up to sequence %d: %w", s.last, err)
	}
	s.position.Store(s.last)
	return nil
}
