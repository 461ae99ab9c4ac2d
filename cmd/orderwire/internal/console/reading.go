package console

import (
	"context"
	"sync"
	"time"
)

const (
	// readingEvery is how often what is kept in memory is brought up to date at most.
	readingEvery = 2 * time.Second
	// readingWait is how long a page waits for that.
	readingWait = 500 * time.Millisecond
	// readingLimit ends one run.
	readingLimit = 10 * time.Minute
)

// reading brings something that is kept in memory up to date: one run at a time,
// beside the requests, so that no page waits long for a first run that takes
// minutes.
type reading struct {
	run func(ctx context.Context) error

	mu    sync.Mutex
	done  chan struct{} // closed when the run under way ends; nil when there is none
	ended time.Time     // of the last run
	whole bool          // a run has come to its end
	err   error         // of the last run
}

// refresh begins a run if one is due, and waits for it a little. whole is false
// until a first run has come to its end; err is the failure of the last one.
func (r *reading) refresh(ctx context.Context) (whole bool, err error) {
	if done := r.begin(ctx); done != nil {
		wait := time.NewTimer(readingWait)
		defer wait.Stop()
		select {
		case <-done:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole, r.err
}

// begin returns what is closed when the run under way ends, nil when none is due.
func (r *reading) begin(ctx context.Context) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done != nil {
		return r.done
	}
	if r.whole && time.Since(r.ended) < readingEvery {
		return nil
	}
	done := make(chan struct{})
	r.done = done
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readingLimit)
		defer cancel()
		err := r.run(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done, r.ended, r.err, r.whole = nil, time.Now(), err, r.whole || err == nil
		close(done)
	}()
	return done
}
