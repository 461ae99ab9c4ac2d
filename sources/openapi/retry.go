package openapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// round is one call with all of its attempts.
type round struct {
	client   *Client
	op       call
	pause    *pause
	attempts int
	last     error // of the last attempt
	stopped  error // why no further attempt may begin, nil when none is barred
}

// do sends a call until it succeeds, cannot succeed, or has had its attempts.
func (c *Client) do(ctx context.Context, op call) (answer, error) {
	if op.params.err != nil {
		return answer{}, fmt.Errorf("%s: %w", op.service, op.params.err)
	}
	r := &round{client: c, op: op, pause: newPause(c.cfg)}
	a, err := backoff.Retry(ctx, func() (answer, error) { return r.next(ctx) },
		backoff.WithBackOff(r.pause),
		backoff.WithMaxTries(uint(c.cfg.MaxAttempts)),
		backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, wait time.Duration) {
			c.cfg.Logger.WarnContext(ctx, "network call failed, trying again",
				"service", op.service, "attempt", r.attempts, "pause", wait, "error", err)
		}))
	if err != nil {
		return answer{}, r.failure(ctx)
	}
	return a, nil
}

// next waits for its turn and makes one attempt.
func (r *round) next(ctx context.Context) (answer, error) {
	if r.stopped = r.client.turn(ctx); r.stopped != nil {
		return answer{}, backoff.Permanent(r.stopped)
	}
	r.attempts++
	a, err := r.client.attempt(ctx, r.op, r.attempts)
	r.last, r.pause.least = err, retryAfter(err)
	if err != nil && !Temporary(err) {
		return a, backoff.Permanent(err)
	}
	return a, err
}

// turn waits until the rate limit lets a request go. The error is the
// context's; it comes at once when the deadline lies before the turn.
func (c *Client) turn(ctx context.Context) error {
	if c.limiter.Wait(ctx) == nil {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// failure tells why the call gave up: its context, or the last attempt.
func (r *round) failure(ctx context.Context) error {
	if r.stopped == nil && Temporary(r.last) {
		r.stopped = context.Cause(ctx)
	}
	switch {
	case r.stopped == nil:
		return r.last
	case r.last == nil:
		return fmt.Errorf("%s: stopped: %w", r.op.service, r.stopped)
	default:
		return fmt.Errorf("%s: stopped%s: %w; last failure: %w", r.op.service, after(r.attempts), r.stopped, r.last)
	}
}

// retryAfter returns the pause that the network asked for.
func retryAfter(err error) time.Duration {
	var unavailable *HTTPError
	var refused *RefusedError
	switch {
	case errors.As(err, &unavailable):
		return unavailable.RetryAfter
	case errors.As(err, &refused):
		return refused.RetryAfter
	default:
		return 0
	}
}

// pause is the exponential backoff of one round, never shorter than the
// network asked for.
type pause struct {
	backoff.ExponentialBackOff
	least time.Duration // Retry-After of the last answer
}

func newPause(cfg Config) *pause {
	return &pause{ExponentialBackOff: backoff.ExponentialBackOff{
		InitialInterval:     cfg.InitialBackoff,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         cfg.MaxBackoff,
	}}
}

// NextBackOff returns the next pause.
func (p *pause) NextBackOff() time.Duration {
	return max(min(p.ExponentialBackOff.NextBackOff(), p.MaxInterval), p.least)
}
