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

// Codes of the server's refusals that say that the picture is outdated.
const (
	codeWrongLastSequence         = 10071
	codeWrongLastSequenceConstant = 10164
	codeBatchDuplicate            = 10201
)

// ErrBatchAnswer marks an answer to a publish that does not belong to it.
var ErrBatchAnswer = errors.New("unexpected answer to a publish")

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
func publishBatch(ctx context.Context, nc *nats.Conn, msgs []*nats.Msg) (first uint64, err error) {
	last := len(msgs) - 1
	var id string
	if last > 0 {
		id = nuid.Next()
		for i, m := range msgs {
			m.Header[headerBatchID] = []string{id}
			m.Header[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		}
		msgs[last].Header[headerBatchCommit] = []string{"1"}
	}
	for _, m := range msgs[:last] {
		if err := nc.PublishMsg(m); err != nil {
			return 0, fmt.Errorf("publish: %w", err)
		}
	}
	answer, err := nc.RequestMsgWithContext(ctx, msgs[last])
	if err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	a, err := readAck(answer.Data)
	if err != nil {
		return 0, err
	}
	if last > 0 && (a.BatchID != id || a.BatchSize != len(msgs)) {
		return 0, fmt.Errorf("%w: batch of %d messages acknowledged as %d", ErrBatchAnswer, len(msgs), a.BatchSize)
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

// outdated reports whether the server refused because the log has moved on.
func outdated(err error) bool {
	if errors.Is(err, errDuplicate) {
		return true
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case codeWrongLastSequence, codeWrongLastSequenceConstant, codeBatchDuplicate:
		return true
	default:
		return false
	}
}
