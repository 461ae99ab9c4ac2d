package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrLeaseLost is why a lease's context ends when it was not released: it could
// not be renewed in time, or somebody else has it.
var ErrLeaseLost = errors.New("the lease is lost: it was not renewed in time")

// errReleased is why a lease's context ends otherwise.
var errReleased = errors.New("the lease was released")

// LeaseConfig says how leases are held.
type LeaseConfig struct {
	// Owner names this process to people. Empty means host and process number.
	// It need not be unique.
	Owner string
	// TTL is how long a lease stands that is not renewed; 0 means 7 s. The holder
	// gives up after three quarters of it.
	TTL time.Duration
	// RenewEvery is the pause between renewals; 0 means two sevenths of TTL.
	RenewEvery time.Duration
	// Spread is the pause before contending for a lease, times the number of
	// leases that this process has, so that several processes share them; 0
	// means 50 ms, and it never adds up to more than a seventh of TTL.
	Spread time.Duration
	// Logger gets leases that are lost. Nil discards them.
	Logger *slog.Logger
}

func (c LeaseConfig) withDefaults() LeaseConfig {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	c.Owner = cmp.Or(c.Owner, fmt.Sprintf("%s process %d", host, os.Getpid()))
	c.TTL = cmp.Or(c.TTL, 7*time.Second)
	c.RenewEvery = cmp.Or(c.RenewEvery, c.TTL*2/7)
	c.Spread = cmp.Or(c.Spread, 50*time.Millisecond)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Leases lets several processes share work, each piece under a lease of which
// only one process at a time is the holder. Create it with [Log.Leases].
//
// A lease is a key of a bucket. Its revision is what decides: the holder renews
// by writing on top of the revision that it wrote last, and who takes a lease
// over writes on top of the one that stood still. No clock of the server takes
// part, and no two machines' clocks are compared: the holder counts from before
// it sends a renewal, and gives up after three quarters of the TTL; the others
// count the whole TTL from when they saw the renewal, which is later. So the
// holder has stopped before somebody else begins. A process that is suspended
// as a whole may notice late; the log's expected sequences hold even then.
type Leases struct {
	cfg  LeaseConfig
	id   string // of this process, unique
	kv   jetstream.KeyValue
	stop context.CancelFunc
	done chan struct{}

	mu         sync.Mutex
	seen       map[string]sighting
	mine       map[string]bool // leases that this process has
	more       chan struct{}   // closed at the next sighting or release
	contending int             // attempts under way
}

// record is the value of a lease's key.
type record struct {
	ID     string        `json:"id"` // of the holding process
	Holder string        `json:"holder"`
	Since  time.Time     `json:"since"`
	TTL    time.Duration `json:"ttl"`
}

// sighting is a lease as this process saw it last.
type sighting struct {
	record
	revision uint64
	at       time.Time // by this machine's monotonic clock
	free     bool      // released
}

// Leases begins to watch the leases. Close it before the log.
func (l *Log) Leases(ctx context.Context, cfg LeaseConfig) (*Leases, error) {
	kv, err := l.js.KeyValue(ctx, LeaseBucket)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", LeaseBucket, err)
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	ls := &Leases{
		cfg: cfg.withDefaults(), id: rand.Text(), kv: kv, stop: stop, done: make(chan struct{}),
		seen: make(map[string]sighting), mine: make(map[string]bool), more: make(chan struct{}),
	}
	watcher, err := kv.WatchAll(watching)
	if err != nil {
		stop()
		return nil, fmt.Errorf("bucket %s: %w", LeaseBucket, err)
	}
	if err := ls.first(ctx, watcher); err != nil {
		stop()
		return nil, fmt.Errorf("bucket %s: %w", LeaseBucket, err)
	}
	go ls.watch(watching, watcher)
	return ls, nil
}

// first takes in what there is at the beginning.
func (ls *Leases) first(ctx context.Context, w jetstream.KeyWatcher) error {
	for {
		select {
		case e, open := <-w.Updates():
			if !open {
				return errors.New("the server ended the watch")
			}
			if e == nil {
				return nil
			}
			ls.see(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch takes in every change until ctx ends. A watch that the server ends is
// begun again; meanwhile a contender relies on what it reads itself.
func (ls *Leases) watch(ctx context.Context, w jetstream.KeyWatcher) {
	defer close(ls.done)
	for {
		for e := range w.Updates() {
			if e != nil {
				ls.see(e)
			}
		}
		for {
			if !waitFor(ctx, ls.cfg.RenewEvery) {
				return
			}
			var err error
			if w, err = ls.kv.WatchAll(ctx); err == nil {
				break
			}
			ls.cfg.Logger.Warn("leases cannot be watched, trying again", "error", err)
		}
	}
}

func (ls *Leases) see(e jetstream.KeyValueEntry) {
	s := sighting{revision: e.Revision(), at: time.Now(), free: e.Operation() != jetstream.KeyValuePut}
	if !s.free && json.Unmarshal(e.Value(), &s.record) != nil {
		s.Holder = "unknown" // written by somebody else; it runs out like any other
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if s.revision <= ls.seen[e.Key()].revision {
		return // seen already; it would count from now otherwise
	}
	ls.seen[e.Key()] = s
	close(ls.more)
	ls.more = make(chan struct{})
}

// Close ends the watch. Leases that are held run out by themselves; release them
// first.
func (ls *Leases) Close() {
	ls.stop()
	<-ls.done
}

// Holder tells who has a lease.
type Holder struct {
	Lease  string
	Holder string // the process, for people
	Since  time.Time
	Here   bool // it is this process
}

// Holders returns what is known of all leases, by name. A lease that runs out
// is listed until somebody takes it over.
func (ls *Leases) Holders() map[string]Holder {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := make(map[string]Holder, len(ls.seen))
	for name, s := range ls.seen {
		if !s.free {
			all[name] = Holder{Lease: name, Holder: s.Holder, Since: s.Since, Here: s.ID == ls.id}
		}
	}
	return all
}
