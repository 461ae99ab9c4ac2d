package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// retryEvery is the pause after a renewal that got no answer.
const retryEvery = 250 * time.Millisecond

// Lease is a lease that this process has, until its context ends.
type Lease struct {
	leases *Leases
	name   string
	value  []byte
	cancel context.CancelCauseFunc
	kept   sync.WaitGroup
	expiry *time.Timer

	// These belong to keep, and to Release after it.
	revision uint64
	until    time.Time
}

// HeldError says that another process keeps a lease.
type HeldError struct {
	Lease  string
	Holder string // the process, for people
}

// Error names the lease and who has it.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %s is held by %s", e.Lease, e.Holder)
}

// Acquire waits until this process has a lease, and returns the context to work
// under: it ends when the lease is lost or released, or with ctx. The name
// consists of tokens as [schema.EscapeToken] makes them, joined by dots; a process
// asks for each name once at a time. The error is that of ctx.
func (ls *Leases) Acquire(ctx context.Context, name string) (context.Context, *Lease, error) {
	return ls.acquire(ctx, name, false)
}

// TryAcquire is Acquire that does not wait for a holder that lives: the error is
// a [HeldError] as soon as that one renews the lease. A dead one's is waited for.
func (ls *Leases) TryAcquire(ctx context.Context, name string) (context.Context, *Lease, error) {
	return ls.acquire(ctx, name, true)
}

func (ls *Leases) acquire(ctx context.Context, name string, try bool) (context.Context, *Lease, error) {
	before := ls.sighting(name)
	for {
		if err := ls.awaitChance(ctx, name, before, try); err != nil {
			return nil, nil, err
		}
		held, lease, err := ls.contend(ctx, name)
		if err == nil {
			return held, lease, nil
		}
		if !isTaken(err) && ctx.Err() == nil {
			ls.cfg.Logger.Warn("lease cannot be taken, trying again", "lease", name, "error", err)
			waitFor(ctx, retryEvery)
		}
	}
}

func (ls *Leases) sighting(name string) sighting {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.seen[name]
}

var errTaken = errors.New("somebody else was faster")

func isTaken(err error) bool {
	return errors.Is(err, errTaken) || errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// awaitChance waits until a lease is free, or has not been renewed for its TTL.
// When it is a try, the lease is given up once it is another one than before.
func (ls *Leases) awaitChance(ctx context.Context, name string, before sighting, try bool) error {
	for ctx.Err() == nil {
		ls.mu.Lock()
		left, more, now := ls.left(name), ls.more, ls.seen[name]
		ls.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if try && now.revision != before.revision {
			return &HeldError{Lease: name, Holder: now.Holder}
		}
		timer := time.NewTimer(left)
		select {
		case <-more:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return ctx.Err()
}

// left returns how long a lease is not to be had yet. The lock must be held.
func (ls *Leases) left(name string) time.Duration {
	s, known := ls.seen[name]
	switch {
	case ls.mine[name]:
		return ls.cfg.TTL // its release is told
	case !known, s.free, s.ID == ls.id:
		return 0
	default:
		return time.Until(s.at.Add(max(s.TTL, ls.cfg.TTL)))
	}
}

// chance returns what a lease that is to be had looks like. Whoever contends
// writes on top of just that.
func (ls *Leases) chance(name string) (sighting, bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.seen[name], ls.left(name) <= 0
}

// giveWay waits the longer the more leases this process has, so that others,
// who have less, are faster.
func (ls *Leases) giveWay(ctx context.Context) {
	ls.mu.Lock()
	n := len(ls.mine) + ls.contending
	ls.contending++
	ls.mu.Unlock()
	waitFor(ctx, min(time.Duration(n)*ls.cfg.Spread, ls.cfg.TTL/7))
}

// contend tries to write the lease on top of what was seen of it. When somebody
// else was faster, it looks again, so that their time counts from now.
func (ls *Leases) contend(ctx context.Context, name string) (context.Context, *Lease, error) {
	ls.giveWay(ctx)
	defer ls.contended()
	value, err := json.Marshal(record{ID: ls.id, Holder: ls.cfg.Owner, Since: time.Now().UTC(), TTL: ls.cfg.TTL})
	if err != nil {
		return nil, nil, err
	}
	s, ok := ls.chance(name)
	if !ok {
		return nil, nil, errTaken // while this process gave way
	}
	sent := time.Now()
	asking, cancel := context.WithTimeout(ctx, ls.cfg.hold())
	defer cancel()
	var revision uint64
	if s.revision == 0 || s.free {
		revision, err = ls.kv.Create(asking, name, value)
	} else {
		revision, err = ls.kv.Update(asking, name, value, s.revision)
	}
	if err != nil {
		ls.look(asking, name)
		return nil, nil, fmt.Errorf("lease %s: %w", name, err)
	}
	held, lease := ls.begin(ctx, name, value, revision, sent)
	return held, lease, nil
}

func (ls *Leases) contended() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.contending--
}

// look reads a lease, for a contender whose watch may be behind.
func (ls *Leases) look(ctx context.Context, name string) {
	e, err := ls.kv.Get(ctx, name)
	if err == nil {
		ls.see(e)
	}
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		ls.mu.Lock()
		defer ls.mu.Unlock()
		delete(ls.seen, name)
	}
}

// hold is how long the holder relies on a renewal.
func (c LeaseConfig) hold() time.Duration { return c.TTL * 3 / 4 }

func (ls *Leases) begin(ctx context.Context, name string, value []byte, revision uint64, sent time.Time) (context.Context, *Lease) {
	held, cancel := context.WithCancelCause(ctx)
	l := &Lease{leases: ls, name: name, value: value, cancel: cancel, revision: revision, until: sent.Add(ls.cfg.hold())}
	ls.mu.Lock()
	ls.mine[name] = true
	ls.mu.Unlock()
	l.expiry = time.AfterFunc(time.Until(l.until), func() { cancel(ErrLeaseLost) })
	l.kept.Go(func() { l.keep(held) })
	return held, l
}

// keep renews until the lease's context ends.
func (l *Lease) keep(ctx context.Context) {
	pause := l.leases.cfg.RenewEvery
	for waitFor(ctx, pause) {
		err := l.renew(ctx)
		switch {
		case err == nil:
			pause = l.leases.cfg.RenewEvery
		case errors.Is(err, ErrLeaseLost):
			l.cancel(err)
		default:
			pause = min(retryEvery, l.leases.cfg.RenewEvery)
		}
	}
	if errors.Is(context.Cause(ctx), ErrLeaseLost) {
		l.leases.cfg.Logger.Warn("lease lost", "lease", l.name)
	}
}

func (l *Lease) renew(ctx context.Context) error {
	sent := time.Now()
	asking, cancel := context.WithDeadline(ctx, l.until)
	defer cancel()
	revision, err := l.leases.kv.Update(asking, l.name, l.value, l.revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return l.settle(asking)
	}
	if err != nil {
		return err
	}
	l.revision, l.until = revision, sent.Add(l.leases.cfg.hold())
	l.expiry.Reset(time.Until(l.until))
	return nil
}

// settle finds out who wrote over the lease: this process, in a renewal whose
// answer was lost, or somebody else.
func (l *Lease) settle(ctx context.Context) error {
	e, err := l.leases.kv.Get(ctx, l.name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return ErrLeaseLost
	}
	if err != nil {
		return err
	}
	if string(e.Value()) != string(l.value) {
		return ErrLeaseLost
	}
	l.revision = e.Revision()
	return errors.New("renewed without an answer") // and is renewed again soon, to know when
}

// Release gives the lease back, after the work under it has ended, so that
// somebody else can have it at once. A lease that was lost already is none to
// give back, which is no error.
func (l *Lease) Release(ctx context.Context) error {
	l.cancel(errReleased)
	l.kept.Wait()
	l.expiry.Stop()
	err := l.giveBack(ctx)
	l.leases.mu.Lock()
	delete(l.leases.mine, l.name)
	close(l.leases.more) // for a contender in this process
	l.leases.more = make(chan struct{})
	l.leases.mu.Unlock()
	if err != nil {
		return fmt.Errorf("release lease %s: %w", l.name, err)
	}
	return nil
}

// giveBack takes the key away if it is still this process's: under the revision
// known, or under that of a renewal whose answer the end of the work cut off.
func (l *Lease) giveBack(ctx context.Context) error {
	err := l.leases.kv.Delete(ctx, l.name, jetstream.LastRevision(l.revision))
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	e, err := l.leases.kv.Get(ctx, l.name)
	if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && string(e.Value()) != string(l.value) {
		return nil // lost before
	}
	if err != nil {
		return err
	}
	err = l.leases.kv.Delete(ctx, l.name, jetstream.LastRevision(e.Revision()))
	if errors.As(err, &api) {
		return nil // lost just now
	}
	return err
}
