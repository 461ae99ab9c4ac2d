package jetstream

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/orderwire/orderwire/pipeline"
)

const (
	// freshAttempts bounds what the writer has not looked at yet.
	freshAttempts = 64 * chunkAttempts
	// attemptsBuffer is the default of AttemptsConfig.Buffer.
	attemptsBuffer = 16 << 20
	// chunksAtOnce is the number of chunks on their way. It is low so that a
	// connection that hangs is not filled with them.
	chunksAtOnce = 4
	// attemptsCloseLimit bounds how long Close waits for the server.
	attemptsCloseLimit = 2 * time.Second
	// dropsEvery is the pause between two log lines about dropped attempts.
	dropsEvery = time.Minute
)

// AttemptsConfig says how attempts are written.
type AttemptsConfig struct {
	// Every is how long an attempt waits for others to come into its message; 0
	// means 250 ms.
	Every time.Duration
	// Buffer is the most bytes that wait for the server; what comes then is
	// dropped. 0 means 16 MiB.
	Buffer int
	// Logger gets a line now and then while attempts are dropped. Nil: that of the
	// log.
	Logger *slog.Logger
}

// AttemptWriter stores attempts, in the background and in chunks. Whatever is wrong
// with the server, it delays nobody: it drops attempts, counts them, and says so in
// the log. A crash costs the last quarter of a second of them.
type AttemptWriter struct {
	log    *Log
	cfg    AttemptsConfig
	most   int // bytes of a chunk
	lost   atomic.Uint64
	wake   chan struct{}
	ending chan context.Context
	done   chan struct{} // closed when run has ended

	mu     sync.Mutex
	fresh  []pipeline.Attempt
	closed bool

	// What follows belongs to run.
	spare   []pipeline.Attempt // of the same use as fresh, in turns
	open    map[chunkKey]*chunk
	ready   []*chunk // to be sent
	free    [][]byte // of chunks that are stored, to be used again
	flying  int      // chunks on their way
	results chan sent
	held    int // bytes of all chunks
	waiting int // attempts in ready, and on their way
	flush   *time.Timer
	armed   bool // flush runs
	retry   *time.Timer
	paused  bool // until retry
	pause   backoff.BackOff
	failure error     // the last one
	said    uint64    // how many were lost when it was last said
	saidAt  time.Time // when that was
}

// Attempts returns a writer of attempts, to be closed before the log is.
func (l *Log) Attempts(cfg AttemptsConfig) *AttemptWriter {
	if cfg.Every == 0 {
		cfg.Every = chunkAge
	}
	if cfg.Buffer == 0 {
		cfg.Buffer = attemptsBuffer
	}
	if cfg.Logger == nil {
		cfg.Logger = l.cfg.Logger
	}
	w := &AttemptWriter{
		log: l, cfg: cfg, most: int(min(chunkBytes, l.nc.MaxPayload()/2)), wake: make(chan struct{}, 1), ending: make(chan context.Context, 1),
		done: make(chan struct{}), open: make(map[chunkKey]*chunk), results: make(chan sent, chunksAtOnce),
		flush: time.NewTimer(cfg.Every), retry: time.NewTimer(cfg.Every), pause: newPause(consumerPause),
	}
	w.flush.Stop()
	w.retry.Stop()
	go w.run()
	return w
}

// Record takes an attempt and returns at once. After Close it does nothing.
func (w *AttemptWriter) Record(a pipeline.Attempt) {
	w.mu.Lock()
	if w.closed || len(w.fresh) >= freshAttempts {
		if !w.closed {
			w.lost.Add(1)
		}
		w.mu.Unlock()
		return
	}
	w.fresh = append(w.fresh, a)
	n := len(w.fresh)
	w.mu.Unlock()
	if n == 1 || n%chunkAttempts == 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Dropped counts the attempts that were not stored.
func (w *AttemptWriter) Dropped() uint64 { return w.lost.Load() }

// Close stores what was recorded, for two seconds at most and no longer than ctx
// lasts, and drops the rest.
func (w *AttemptWriter) Close(ctx context.Context) {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if first {
		w.ending <- ctx
	}
	<-w.done
}

// run is the goroutine of the writer.
func (w *AttemptWriter) run() {
	defer close(w.done)
	defer w.flush.Stop()
	defer w.retry.Stop()
	for {
		select {
		case <-w.wake:
			w.look()
		case <-w.flush.C:
			w.armed = false
			w.pack()
			w.closeChunks()
		case r := <-w.results:
			w.settle(r)
		case <-w.retry.C:
			w.paused = false
		case ctx := <-w.ending:
			w.finish(ctx)
			return
		}
		w.send()
		w.say(false)
	}
}

// look packs what has come when it fills a chunk; otherwise it waits for more.
func (w *AttemptWriter) look() {
	if !w.armed {
		w.armed = true
		w.flush.Reset(w.cfg.Every)
	}
	w.mu.Lock()
	n := len(w.fresh)
	w.mu.Unlock()
	if n >= chunkAttempts {
		w.pack()
	}
}

// finish stores what is left.
func (w *AttemptWriter) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, attemptsCloseLimit)
	defer cancel()
	w.pack()
	w.closeChunks()
	w.paused = false
	for w.send(); len(w.ready)+w.flying > 0; w.send() {
		select {
		case r := <-w.results:
			w.settle(r)
			continue
		case <-w.retry.C:
			w.paused = false
			continue
		case <-ctx.Done():
		}
		w.lost.Add(uint64(w.waiting))
		break
	}
	w.say(true)
}

// say tells of what was dropped, once in a while and at the end.
func (w *AttemptWriter) say(last bool) {
	lost := w.lost.Load()
	if lost == w.said || !last && time.Since(w.saidAt) < dropsEvery {
		return
	}
	w.cfg.Logger.Warn("attempts to deliver are not recorded; the deliveries are not concerned", "dropped", lost-w.said, "error", w.failure)
	w.said, w.saidAt = lost, time.Now()
}
