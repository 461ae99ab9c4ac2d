package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// newPause is the growing pause between attempts at servers that are not there
// for a moment.
func newPause() backoff.BackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, time.Second
	return pause
}

// untilAvailable repeats what changes nothing when it is repeated, until it
// succeeds, fails for a reason that stays, or the limit is reached: a cluster
// without a leader does not answer, or says so. A single attempt gets the time
// once, because a request that is lost is never answered.
func untilAvailable(ctx context.Context, limit, once time.Duration, ask func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := newPause()
	for {
		err := attempt(limited, once, ask)
		if err == nil || !unavailable(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-limited.Done():
			return err
		}
	}
}

func attempt(ctx context.Context, once time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, once)
	defer cancel()
	return ask(ctx)
}
