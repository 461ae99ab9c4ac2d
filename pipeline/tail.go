package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
)

// TailConfig says what a [Tail] reads.
type TailConfig struct {
	Follow Follow
	// Last returns the sequence of the log's newest message, 0 for none.
	Last func(ctx context.Context) (uint64, error)
	// Held is the most messages that are held for those who come a little later; 0
	// means 2048.
	Held int
	// HeldBytes bounds the size of their events; 0 means 8 MiB.
	HeldBytes int
	// Logger gets failures. Nil discards them.
	Logger *slog.Logger
}

// Tail is one reading of the log's end for many readers: what comes into the log
// is read and parsed once, however many endpoints want it. One that is further back
// than what is held reads by itself until it has caught up, so that none waits for
// another. Without [Tail.Run], all read by themselves. Create it with [NewTail].
type Tail struct {
	cfg TailConfig

	mu     sync.Mutex
	near   int           // readers at the log's end
	wanted chan struct{} // closed and replaced when near changes
	live   bool          // the log's end is being read
	after  uint64        // while live: what is behind it is held, or to come
	held   []Parsed      // ascending
	bytes  int           // of held
	more   chan struct{} // closed and replaced when something came, and when live changes
}

// NewTail returns a tail that does not read yet.
func NewTail(cfg TailConfig) *Tail {
	orDefault(&cfg.Held, 2048)
	orDefault(&cfg.HeldBytes, 8<<20)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Tail{cfg: cfg, wanted: make(chan struct{}), more: make(chan struct{})}
}

// Run reads the log's end while somebody has caught up with it, until ctx ends. A
// reading that fails is begun again; the readers go on by themselves meanwhile.
func (t *Tail) Run(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = 30 * time.Second
	for {
		if !t.await(ctx) {
			return nil
		}
		begun := time.Now()
		err := t.read(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whatever was cut off by the end of ctx is no failure
		}
		if err == nil {
			continue
		}
		if time.Since(begun) > pause.MaxInterval {
			pause.Reset()
		}
		wait := pause.NextBackOff()
		t.cfg.Logger.Warn("the log's end cannot be read for all endpoints together, each reads by itself", "error", err, "again_in", wait)
		if !pauseFor(ctx, wait) {
			return nil
		}
	}
}

// await waits until somebody wants the log's end.
func (t *Tail) await(ctx context.Context) bool {
	for {
		near, changed := t.wants()
		if near > 0 {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (t *Tail) wants() (near int, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.near, t.wanted
}

// approach counts a reader as one at the log's end, or no more.
func (t *Tail) approach(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.near += n
	close(t.wanted)
	t.wanted = make(chan struct{})
}

// read reads until nobody wants the log's end any more, which is nil.
func (t *Tail) read(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	last, err := t.cfg.Last(ctx)
	if err != nil {
		return err
	}
	in, err := t.cfg.Follow(ctx, last)
	if err != nil {
		return err
	}
	t.begin(last)
	defer t.end()
	for {
		near, changed := t.wants()
		if near == 0 {
			return nil
		}
		select {
		case msg, open := <-in:
			if !open {
				return errors.New("the log closed the subscription")
			}
			if err := t.take(parseSome(msg, in)); err != nil {
				return err
			}
		case <-changed:
		}
	}
}

// take holds messages and tells the readers.
func (t *Tail) take(batch []Parsed) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	for _, p := range batch {
		if p.fatal() {
			return p.Err
		}
		t.hold(p)
	}
	return nil
}

// hold keeps a message, and lets go of the oldest. mu is held.
func (t *Tail) hold(p Parsed) {
	t.held = append(t.held, p)
	t.bytes += len(p.Entry.Raw)
	gone := 0
	for left := len(t.held); left > t.cfg.Held || left > 1 && t.bytes > t.cfg.HeldBytes; left-- {
		t.after = t.held[gone].Entry.Sequence
		t.bytes -= len(t.held[gone].Entry.Raw)
		t.held[gone] = Parsed{}
		gone++
	}
	t.held = t.held[gone:]
}

func (t *Tail) begin(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live, t.after = true, last
	t.tell()
}

func (t *Tail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live, t.held, t.bytes = false, nil, 0
	t.tell()
}

// tell wakes who waits for more. mu is held.
func (t *Tail) tell() {
	close(t.more)
	t.more = make(chan struct{})
}

// behind returns messages that are held, up to some, or when there are none what is
// closed when more has come. It returns false when a reader at that sequence has to
// read by itself.
func (t *Tail) behind(sequence uint64, some int) ([]Parsed, <-chan struct{}, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.live || sequence < t.after {
		return nil, t.more, false
	}
	at := sort.Search(len(t.held), func(i int) bool { return t.held[i].Entry.Sequence > sequence })
	rest := t.held[at:]
	return slices.Clone(rest[:min(len(rest), some)]), t.more, true
}

// Follow opens the log behind a sequence, 0 for its beginning. Messages come some at
// a time, in a slice that is the reader's. The channel closes when ctx ends, and after
// an error that is no poison.
func (t *Tail) Follow(ctx context.Context, after uint64) (<-chan []Parsed, error) {
	r := &tailReader{tail: t, at: after, out: make(chan []Parsed, parsedAhead)}
	if _, _, covered := t.behind(after, 0); !covered {
		if err := r.open(ctx); err != nil {
			return nil, err
		}
	}
	go r.run(ctx)
	return r.out, nil
}

// tailReader is one of the readers; its goroutine owns it.
type tailReader struct {
	tail  *Tail
	at    uint64 // sequence of the last message that was read
	ahead []Parsed
	out   chan []Parsed
	own   <-chan *message.Message // its own reading, nil while it has what the tail holds
	leave context.CancelFunc
	near  bool
}

func (r *tailReader) run(ctx context.Context) {
	defer close(r.out)
	defer func() {
		r.close()
		r.approach(false)
	}()
	for {
		if r.own != nil && !r.alone(ctx) || !r.together(ctx) {
			r.hand(ctx) // what came before the end
			return
		}
		r.approach(false)
		if err := r.open(ctx); err != nil {
			r.gain([]Parsed{{Err: err}})
			r.hand(ctx)
			return
		}
	}
}

func (r *tailReader) open(parent context.Context) (err error) {
	ctx, cancel := context.WithCancel(parent)
	if r.own, err = r.tail.cfg.Follow(ctx, r.at); err != nil {
		cancel()
		return err
	}
	r.leave = cancel
	return nil
}

func (r *tailReader) close() {
	if r.own != nil {
		r.leave()
		r.own = nil
	}
}

// approach counts the reader as one at the log's end, or no more.
func (r *tailReader) approach(near bool) {
	if near == r.near {
		return
	}
	r.near = near
	if near {
		r.tail.approach(1)
	} else {
		r.tail.approach(-1)
	}
}

// caughtUpEvery is how often one who reads by itself looks whether it has caught up.
const caughtUpEvery = 50 * time.Millisecond

// alone reads by itself until the tail holds what is next. It returns false at the
// end.
func (r *tailReader) alone(ctx context.Context) bool {
	look := time.NewTicker(caughtUpEvery)
	defer look.Stop()
	for {
		var more <-chan struct{}
		if r.near {
			_, changed, covered := r.tail.behind(r.at, 0)
			if covered {
				r.close()
				return true
			}
			more = changed
		}
		in, out := r.own, r.out
		if len(r.ahead) >= parsedMost {
			in = nil
		}
		if len(r.ahead) == 0 {
			out = nil
		}
		select {
		case msg, open := <-in:
			if !open || !r.gain(parseSome(msg, in)) {
				return false
			}
		case out <- r.ahead:
			r.ahead = nil
		case <-more:
		case <-look.C:
			r.approach(len(r.own) == 0)
		case <-ctx.Done():
			return false
		}
	}
}

// together reads what the tail holds, until the reader has fallen behind that. It
// returns false at the end.
func (r *tailReader) together(ctx context.Context) bool {
	r.approach(true)
	for {
		if !r.hand(ctx) {
			return false
		}
		held, more, covered := r.tail.behind(r.at, parsedMost)
		if !covered {
			return true
		}
		if len(held) > 0 {
			r.gain(held)
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// gain puts messages behind those that wait for the reader's owner. It returns false
// when nothing follows.
func (r *tailReader) gain(some []Parsed) bool {
	r.ahead = append(r.ahead, some...)
	newest := last(some)
	if newest.fatal() {
		return false
	}
	r.at = max(r.at, newest.Entry.Sequence)
	return true
}

// hand gives what waits to the reader's owner. It returns false at the end.
func (r *tailReader) hand(ctx context.Context) bool {
	if len(r.ahead) == 0 {
		return true
	}
	select {
	case r.out <- r.ahead: // from here on it is the owner's
		r.ahead = nil
		return true
	case <-ctx.Done():
		return false
	}
}
