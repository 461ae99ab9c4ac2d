package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// chunksAtATime and chunkBytesAtATime bound the answer to one request.
	chunksAtATime     = 256
	chunkBytesAtATime = 1 << 20

	// apiDirectGet is the subject at which any replica gives out messages; several
	// with one request (NATS ADR-31).
	apiDirectGet = "$JS.API.DIRECT.GET."

	headerStatus  = "Status"
	statusEnd     = "204" // of a batch
	statusNone    = "404" // no message
	statusNobody  = "503" // no server has the stream
	headerPending = "Nats-Num-Pending"
)

// chunkRange says which chunks to read, the oldest first.
type chunkRange struct {
	from    uint64    // the first sequence
	at      time.Time // or the time of storage from which on
	last    uint64    // the last sequence; 0 for no end
	most    int
	subject string            // with wildcards
	keep    func([]byte) bool // whether the content is of interest; nil: it is
}

// storedChunk is a chunk of the stream.
type storedChunk struct {
	key    chunkKey
	seq    uint64
	stored time.Time
	data   []byte // nil when it is of no interest
}

// chunksRead are chunks of a range.
type chunksRead struct {
	chunks []storedChunk
	bytes  int    // of all messages that came
	next   uint64 // where to go on; 0 when nothing is left of the range
}

// chunks reads some chunks of a range.
func (l *Log) chunks(ctx context.Context, want chunkRange) (got chunksRead, err error) {
	err = untilAvailable(ctx, l.cfg.Timeout, attemptLimit, func(ctx context.Context) error {
		got, err = l.askChunks(ctx, want)
		return err
	})
	return got, err
}

func (l *Log) askChunks(ctx context.Context, want chunkRange) (got chunksRead, err error) {
	request := map[string]any{"batch": want.most, "max_bytes": chunkBytesAtATime, "next_by_subj": want.subject}
	if want.at.IsZero() {
		request["seq"] = want.from
	} else {
		request["start_time"] = want.at.UTC()
	}
	body, err := json.Marshal(request)
	if err != nil {
		return got, err
	}
	inbox := l.nc.NewInbox()
	answers, err := l.nc.SubscribeSync(inbox)
	if err != nil {
		return got, err
	}
	defer func() { _ = answers.Unsubscribe() }() // what still comes is for nobody
	if err := l.nc.PublishRequest(apiDirectGet+AttemptStreamName, inbox, body); err != nil {
		return got, err
	}
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return got, err
		}
		if end, err := got.take(m, want); end || err != nil {
			return got, err
		}
	}
}

// take takes in one message of the answer, and reports whether it was the last
// that matters.
func (r *chunksRead) take(m *nats.Msg, want chunkRange) (end bool, err error) {
	switch status := m.Header.Get(headerStatus); status {
	case "":
	case statusNone:
		r.next = 0
		return true, nil
	case statusEnd:
		if m.Header.Get(headerPending) == "0" {
			r.next = 0
		}
		return true, nil
	case statusNobody:
		return true, nats.ErrNoResponders
	default:
		return true, fmt.Errorf("%w: status %s %s", ErrBatchAnswer, status, m.Header.Get("Description"))
	}
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return true, fmt.Errorf("%w: %w", ErrBatchAnswer, err)
	}
	if want.last > 0 && seq > want.last {
		r.next = 0
		return true, nil
	}
	r.next = seq + 1
	r.bytes += len(m.Data)
	c := storedChunk{seq: seq}
	if c.stored, err = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer)); err != nil {
		return true, fmt.Errorf("%w: %w", ErrBatchAnswer, err)
	}
	if c.key, err = parseChunkSubject(m.Header.Get(jetstream.SubjectHeader)); err == nil && (want.keep == nil || want.keep(m.Data)) {
		c.data = m.Data // somebody else's message is passed over
	}
	r.chunks = append(r.chunks, c)
	return false, nil
}
