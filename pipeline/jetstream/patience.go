package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// requestPause is the longest pause between attempts at a request, for which
	// somebody waits.
	requestPause = time.Second
	// consumerPause is the longest pause between attempts to get a consumer, or to
	// do what nobody waits for.
	consumerPause = 5 * time.Second
)

// newPause returns the pauses between attempts at servers that are not there
// for a moment, which grow up to most.
func newPause(most time.Duration) backoff.BackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, most
	return pause
}

// waitFor waits unless ctx ends first; then it returns false.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// untilAvailable repeats what changes nothing when it is repeated, until it
// succeeds, fails for a reason that stays, or the limit is reached: a cluster
// without a leader does not answer, or says so. A single attempt gets the time
// once, because a request that is lost is never answered.
func untilAvailable(ctx context.Context, limit, once time.Duration, ask func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := newPause(requestPause)
	for {
		err := attempt(limited, once, ask)
		if err == nil || !unavailable(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if !waitFor(limited, pause.NextBackOff()) {
			return err
		}
	}
}

// twice is untilAvailable for what the servers may take their time for, as they do to
// make a consumer: an attempt gets half of the time of a request.
func (l *Log) twice(ctx context.Context, ask func(ctx context.Context) error) error {
	return untilAvailable(ctx, l.cfg.Timeout, l.cfg.Timeout/2, ask)
}

func attempt(ctx context.Context, once time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, once)
	defer cancel()
	return ask(ctx)
}
