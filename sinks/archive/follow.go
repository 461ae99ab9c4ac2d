package archive

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// followWithin bounds one run of a Follower, and how long Close waits for the
// last one.
const (
	followWithin     = 5 * time.Minute
	lastFollowWithin = 5 * time.Second
)

// Follower keeps something in step with the manifest: the table of a catalog.
type Follower interface {
	// Follow takes over every entry of the manifest that it has not taken over
	// yet. It may be cut off at any point and called again, and finds out by
	// itself what is already in.
	Follow(ctx context.Context) error
}

// following runs a Follower beside the archive: after each commit, and again when
// the archive is opened or flushed after a run that failed. No run holds the
// archive up.
type following struct {
	follower Follower
	log      *slog.Logger
	wake     chan struct{} // holds one; closed by close
	cut      context.CancelFunc
	done     chan struct{} // closed when no run comes any more

	mu      sync.Mutex
	head    uint64 // the archive's last commit
	in      uint64 // the last commit that is known to be taken over
	problem string // of the last run, "" when it went well
}

// startFollowing begins with a run, because entries may be missing since the
// last time. It returns nil without a Follower.
func startFollowing(ctx context.Context, f Follower, head uint64, log *slog.Logger) *following {
	if f == nil {
		return nil
	}
	ctx, cut := context.WithCancel(context.WithoutCancel(ctx))
	w := &following{follower: f, log: log, wake: make(chan struct{}, 1), cut: cut, done: make(chan struct{}), head: head}
	w.wake <- struct{}{}
	go w.loop(ctx)
	return w
}

func (w *following) loop(ctx context.Context) {
	defer close(w.done)
	for range w.wake {
		w.run(ctx)
	}
}

func (w *following) run(ctx context.Context) {
	w.mu.Lock()
	head := w.head
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, followWithin)
	defer cancel()
	err := w.follower.Follow(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.problem = err.Error()
		w.log.Warn("archive: what follows the manifest is behind; it will be tried again", "commit", head, "reached", w.in, "error", err)
		return
	}
	w.in, w.problem = head, ""
}

// moved says which is the last commit of the archive now.
func (w *following) moved(head uint64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	moved := head != w.head
	w.head = head
	w.mu.Unlock()
	if moved {
		w.again()
	}
}

// retry runs again if the last run failed.
func (w *following) retry() {
	if w == nil {
		return
	}
	w.mu.Lock()
	failed := w.problem != ""
	w.mu.Unlock()
	if failed {
		w.again()
	}
}

func (w *following) again() {
	select {
	case w.wake <- struct{}{}:
	default: // a run is due anyway
	}
}

// state returns the last commit that is known to be taken over, and what is
// wrong, "" for nothing.
func (w *following) state() (in uint64, problem string) {
	if w == nil {
		return 0, ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.in, w.problem
}

// close waits for the run that is due, but not for long: what it does not reach
// is found missing at the next Open.
func (w *following) close() {
	if w == nil {
		return
	}
	close(w.wake)
	defer w.cut()
	select {
	case <-w.done:
	case <-time.After(lastFollowWithin):
		w.cut()
		<-w.done
	}
}
