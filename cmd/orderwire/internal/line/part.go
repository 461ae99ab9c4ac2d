package line

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/pipeline/jetstream"
	"github.com/orderwire/orderwire/schema"
)

// releaseLimit bounds giving a lease back.
const releaseLimit = 3 * time.Second

// part is a piece of the line's work that one process at a time does: an
// account's polling, a sink, or an endpoint.
type part struct {
	kind string // of work: account, sink or endpoint
	name string
	// open begins a session: it opens what the work needs.
	open func(ctx context.Context) (*session, error)

	now      atomic.Pointer[session] // nil while another process does the work, or the place cannot be opened
	failure  atomic.Pointer[string]  // why the place could not be opened, nil when it could
	unusable atomic.Bool             // failure says what is wrong with its definition: no process does the work
}

// session is a time in which this process does the work of a part.
type session struct {
	run   func(ctx context.Context) error // until ctx ends
	poll  func(ctx context.Context) error // once; nil for what is fed from the log
	feed  follower                        // nil for an account
	close func() error                    // nil when nothing was opened
}

// follower is a sink's runner or an endpoint's courier.
type follower interface {
	Run(ctx context.Context) error
	Drain(ctx context.Context, upTo uint64) error
	Progress() pipeline.Progress
}

// lease is the name that processes agree on.
func (p *part) lease() string { return p.kind + "." + schema.EscapeToken(p.name) }

// begin opens a session.
func (p *part) begin(ctx context.Context) (*session, error) {
	s, err := p.open(ctx)
	if err != nil {
		text := err.Error()
		p.failure.Store(&text)
		return nil, err
	}
	p.failure.Store(nil)
	p.now.Store(s)
	return s, nil
}

// end closes the session, if there is one.
func (p *part) end() error {
	s := p.now.Swap(nil)
	if s == nil || s.close == nil {
		return nil
	}
	return s.close()
}

// pauses are those between attempts to open a place.
func pauses() *backoff.ExponentialBackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = time.Second, 30*time.Second
	return pause
}

// alone works in the only process of an embedded log, until ctx ends. A place
// that could not be opened is tried again, and the other parts go on.
func (p *part) alone(ctx context.Context, log *slog.Logger) error {
	pause := pauses()
	for p.now.Load() == nil {
		wait := pause.NextBackOff()
		log.Error("work cannot begin, the log holds its events", p.kind, p.name, "error", *p.failure.Load(), "again_in", wait.Round(time.Millisecond))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
		_, err := p.begin(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whatever was cut off by the end of ctx is no failure
		}
		if err == nil {
			log.Info("work begins now", p.kind, p.name)
		}
	}
	return p.now.Load().run(ctx)
}

// shift does a part's work in turns with other processes, until ctx ends.
type shift struct {
	leases *jetstream.Leases
	log    *slog.Logger
}

// run waits for the part's lease, works while it has it, and waits again.
func (s *shift) run(ctx context.Context, p *part) error {
	pause := pauses()
	for {
		err := s.turn(ctx, p, s.leases.Acquire, func(held context.Context, own *session) error {
			pause.Reset()
			return own.run(held)
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whatever was cut off by the end of ctx is no failure
		}
		if err == nil || errors.Is(err, jetstream.ErrLeaseLost) {
			continue
		}
		wait := pause.NextBackOff()
		s.log.Error("work cannot begin, another process may have it meanwhile", p.kind, p.name, "error", err, "again_in", wait.Round(time.Millisecond))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// acquire gets a lease: [jetstream.Leases.Acquire] or TryAcquire.
type acquire func(ctx context.Context, name string) (context.Context, *jetstream.Lease, error)

// turn works once under the part's lease.
func (s *shift) turn(ctx context.Context, p *part, get acquire, work func(ctx context.Context, own *session) error) error {
	held, lease, err := get(ctx, p.lease())
	if err != nil {
		return err
	}
	s.log.Info("this process does the work now", p.kind, p.name)
	err = s.session(held, p, work)
	if cause := context.Cause(held); errors.Is(cause, jetstream.ErrLeaseLost) {
		err = cause
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	return errors.Join(err, lease.Release(releasing))
}

func (s *shift) session(held context.Context, p *part, work func(ctx context.Context, own *session) error) error {
	own, err := p.begin(held)
	if err != nil {
		return err
	}
	return errors.Join(work(held, own), p.end())
}
