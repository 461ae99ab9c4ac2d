package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// MaxBatch is the largest number of messages that the server takes in one
// atomic batch (ADR-50).
const MaxBatch = 1000

// Headers of an atomic batch (ADR-50).
const (
	headerBatchID     = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// ErrBatchAnswer marks an answer to a request that does not belong to it.
var ErrBatchAnswer = errors.New("unexpected answer of the server")

// ack is the server's answer to a publish or to the commit of a batch.
type ack struct {
	Stream    string              `json:"stream"`
	Sequence  uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
	BatchID   string              `json:"batch"`
	BatchSize int                 `json:"count"`
	Error     *jetstream.APIError `json:"error"`
}

// publishBatch stores all messages, or none, and returns the sequence of the
// first: a batch takes consecutive sequences. One message goes out plainly.
func publishBatch(ctx context.Context, nc *nats.Conn, batch []outgoing) (first uint64, err error) {
	last := len(batch) - 1
	var id string
	if last > 0 {
		id = nuid.Next()
		ids := []string{id} // shared: nobody writes to it
		for i := range batch {
			h := batch[i].wire.Header
			h[headerBatchID] = ids
			h[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		}
		batch[last].wire.Header[headerBatchCommit] = []string{"1"}
	}
	for i := range last {
		if err := nc.PublishMsg(batch[i].wire); err != nil {
			return 0, fmt.Errorf("publish: %w", err)
		}
	}
	answer, err := nc.RequestMsgWithContext(ctx, batch[last].wire)
	if err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	a, err := readAck(answer.Data)
	if err != nil {
		return 0, err
	}
	if last > 0 && (a.BatchID != id || a.BatchSize != len(batch)) {
		return 0, fmt.Errorf("%w: batch of %d messages acknowledged as %d", ErrBatchAnswer, len(batch), a.BatchSize)
	}
	return a.Sequence - uint64(last), nil
}

func readAck(data []byte) (ack, error) {
	var a ack
	if err := json.Unmarshal(data, &a); err != nil {
		return ack{}, fmt.Errorf("%w: %w", ErrBatchAnswer, err)
	}
	switch {
	case a.Error != nil:
		return ack{}, a.Error
	case a.Stream == "" || a.Sequence == 0:
		return ack{}, ErrBatchAnswer
	case a.Duplicate:
		return ack{}, errDuplicate
	}
	return a, nil
}

// errDuplicate says that the message id is in the log already.
var errDuplicate = errors.New("message id is in the log already")

// The server's refusals, by what they mean for a publisher.
var (
	// outdatedCodes say that the log has moved on.
	outdatedCodes = map[jetstream.ErrorCode]bool{
		10071: true, // wrong last sequence
		10164: true, // the same, while a message of the order is being stored
		10201: true, // the batch holds a message id that is in the log
	}
	// unavailableCodes say that nothing was stored, and that this passes.
	unavailableCodes = map[jetstream.ErrorCode]bool{
		10008: true, // JetStream system temporarily unavailable
		10009: true, // not the leader
		10118: true, // stream is offline
		10158: true, // a message with this id is being stored
		10163: true, // expected last sequence per subject temporarily unavailable
		10176: true, // incomplete batch: the leader changed in the middle of it
		10194: true, // stream is offline, with a reason
		10210: true, // too many batches under way
	}
	// tooLargeCodes say that a message or batch never fits.
	tooLargeCodes = map[jetstream.ErrorCode]bool{
		10054: true, // message size exceeds maximum
		10097: true, // header size exceeds maximum
		10199: true, // batch is too large
	}
)

func refusedWith(err error, codes map[jetstream.ErrorCode]bool) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && codes[api.ErrorCode]
}

// outdated reports whether the server refused because the log has moved on.
func outdated(err error) bool { return errors.Is(err, errDuplicate) || refusedWith(err, outdatedCodes) }

// unavailable reports whether nothing was stored because the servers cannot
// store anything at present.
func unavailable(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || refusedWith(err, unavailableCodes)
}
