package jetstream

import (
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/orderwire/orderwire/pipeline"
)

// chunk is a message of attempts.
type chunk struct {
	key   chunkKey
	id    string
	data  []byte
	count int // attempts
}

// sent is what became of sending a chunk.
type sent struct {
	chunk *chunk
	err   error
}

// pack puts what was recorded into chunks.
func (w *AttemptWriter) pack() {
	w.mu.Lock()
	fresh := w.fresh
	w.fresh = w.spare[:0]
	w.mu.Unlock()
	for i := range fresh {
		w.put(&fresh[i])
	}
	clear(fresh) // they hold texts of events
	w.spare = fresh
}

func (w *AttemptWriter) put(a *pipeline.Attempt) {
	if w.held >= w.cfg.Buffer {
		w.lost.Add(1)
		return
	}
	key := chunkKey{a.Endpoint, a.Outcome}
	c := w.open[key]
	if c == nil {
		c = &chunk{key: key, id: nuid.Next(), data: w.buffer()}
		w.open[key] = c
	}
	before := len(c.data)
	c.data = appendAttempt(c.data, a)
	w.held += len(c.data) - before
	if c.count++; c.count == chunkAttempts || len(c.data) >= w.most {
		w.closeChunk(c)
	}
}

// buffer returns an empty one for a chunk.
func (w *AttemptWriter) buffer() []byte {
	n := len(w.free)
	if n == 0 {
		return nil
	}
	b := w.free[n-1]
	w.free = w.free[:n-1]
	return b
}

func (w *AttemptWriter) closeChunk(c *chunk) {
	delete(w.open, c.key)
	w.ready = append(w.ready, c)
	w.waiting += c.count
}

// closeChunks has all chunks sent as they are.
func (w *AttemptWriter) closeChunks() {
	for _, c := range w.open {
		w.closeChunk(c)
	}
}

// send begins to store chunks, a few at a time.
func (w *AttemptWriter) send() {
	for len(w.ready) > 0 && w.flying < chunksAtOnce && !w.paused {
		if !w.log.nc.IsConnected() { // the client would keep it in a buffer that others need
			w.rest(nats.ErrDisconnected)
			return
		}
		c := w.ready[0]
		m := nats.NewMsg(c.key.subject())
		m.Data = c.data
		m.Header.Set(jetstream.MsgIDHeader, c.id) // what is sent again is not stored again
		future, err := w.log.js.PublishMsgAsync(m)
		if err != nil {
			w.rest(err)
			return
		}
		w.ready[0] = nil
		w.ready = w.ready[1:]
		w.flying++
		go w.await(c, future)
	}
}

// await waits for the server's answer, which comes in the time of a request or
// not at all.
func (w *AttemptWriter) await(c *chunk, future jetstream.PubAckFuture) {
	r := sent{chunk: c}
	select {
	case <-future.Ok():
	case r.err = <-future.Err():
	case <-w.done:
		return
	}
	w.results <- r
}

// settle takes in what became of a chunk. One that was not stored is sent again,
// unless it never fits.
func (w *AttemptWriter) settle(r sent) {
	w.flying--
	switch {
	case r.err == nil:
		w.pause.Reset()
		if len(w.free) < 2*chunksAtOnce {
			w.free = append(w.free, r.chunk.data[:0])
		}
	case refusedWith(r.err, tooLargeCodes):
		w.failure = r.err
		w.lost.Add(uint64(r.chunk.count))
	default:
		w.ready = slices.Insert(w.ready, 0, r.chunk)
		w.rest(r.err)
		return
	}
	w.held -= len(r.chunk.data)
	w.waiting -= r.chunk.count
}

// rest lets some time pass before anything more is sent.
func (w *AttemptWriter) rest(err error) {
	w.failure = err
	if !w.paused {
		w.paused = true
		w.retry.Reset(w.pause.NextBackOff())
	}
}
