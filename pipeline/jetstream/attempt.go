package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// lookupsAtOnce is the number of orders that are looked up side by side.
const lookupsAtOnce = 32

// publish stores a batch. While the servers say that they cannot store anything
// it tries again, within the time of a request.
func (l *Log) publish(batch []outgoing) error {
	parent := contextOf(batch)
	select {
	case l.batches <- struct{}{}:
		defer func() { <-l.batches }()
	case <-parent.Done():
		return fmt.Errorf("batch of %d messages, not sent: %w", len(batch), parent.Err())
	}
	ctx, cancel := context.WithTimeout(parent, l.cfg.Timeout)
	defer cancel()
	first, err := l.insist(ctx, batch)
	switch {
	case err == nil:
		for i := range batch {
			l.learn(&batch[i], first+uint64(i))
		}
		l.index.progress.stored(first, first+uint64(len(batch)-1))
		return nil
	case outdated(err) && batch[0].key == "":
		return l.publishPlain(ctx, batch)
	case outdated(err):
		return l.examine(ctx, batch, err)
	case unavailable(err):
		return fmt.Errorf("batch of %d messages: %w: %w", len(batch), pipeline.ErrNoQuorum, err)
	case refusedWith(err, tooLargeCodes):
		return fmt.Errorf("batch of %d messages: %w: %w", len(batch), pipeline.ErrTooLarge, err)
	}
	return fmt.Errorf("batch of %d messages: %w", len(batch), err)
}

// insist sends a batch until it is stored or refused for a reason that stays.
func (l *Log) insist(ctx context.Context, batch []outgoing) (first uint64, err error) {
	pause := newPause(requestPause)
	for {
		first, err = publishBatch(ctx, l.nc, batch)
		if !unavailable(err) {
			return first, err
		}
		wait := pause.NextBackOff()
		if until, ok := ctx.Deadline(); ok && time.Until(until) < 2*wait {
			return 0, err // an attempt without the time for an answer would leave the outcome unknown
		}
		if !waitFor(ctx, wait) {
			return 0, err
		}
	}
}

// publishPlain stores messages without an order one by one, after a batch of
// them was refused because of an id that is in the log. It returns
// [pipeline.ErrStored] when all of them are.
func (l *Log) publishPlain(ctx context.Context, batch []outgoing) error {
	again := 0
	for i := range batch {
		for _, name := range []string{headerBatchID, headerBatchSeq, headerBatchCommit} {
			delete(batch[i].wire.Header, name)
		}
		_, err := l.insist(ctx, batch[i:i+1])
		if errors.Is(err, errDuplicate) {
			again++
		} else if err != nil {
			return fmt.Errorf("message %d of %d: %w", i+1, len(batch), err)
		}
	}
	if again == len(batch) {
		return pipeline.ErrStored
	}
	return nil
}

// finding is what the log says of one message of a refused batch.
type finding struct {
	stored bool // it is the order's last event
	stale  bool // the order's last event is another than expected
}

// examine finds out why a batch was refused, from the stream's leader, and
// brings the index up to date. It returns [pipeline.ErrStored] or a
// [*pipeline.StaleError].
func (l *Log) examine(ctx context.Context, batch []outgoing, cause error) error {
	findings := make([]finding, len(batch))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookupsAtOnce)
	for i := range batch {
		group.Go(func() (err error) {
			findings[i], err = l.lookUp(ctx, &batch[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("batch of %d messages was refused (%w), and the log does not say why: %w", len(batch), cause, err)
	}
	refusal := &pipeline.StaleError{Batch: len(batch), Cause: cause}
	all := true
	for i, v := range findings {
		all = all && v.stored
		if !v.stale {
			continue
		}
		key, err := batch[i].orderKey()
		if err != nil {
			return err
		}
		refusal.Orders = append(refusal.Orders, key)
	}
	if all {
		return pipeline.ErrStored
	}
	return refusal
}

// lookUp compares a message with its order's last event in the log. What is no
// event counts as stale, and [Log.Load] says what it is.
func (l *Log) lookUp(ctx context.Context, o *outgoing) (finding, error) {
	last, err := l.last(ctx, schema.SubjectRoot+"."+o.key+".*")
	if err != nil {
		return finding{}, err
	}
	hash := hashKey(o.key)
	if last == nil {
		l.index.update(hash, func(old pipeline.Known) pipeline.Known {
			old.Sequence = 0 // its events have aged out
			return old
		})
		return finding{stale: o.expected != "0"}, nil
	}
	v := finding{stale: o.expected != strconv.FormatUint(last.Sequence, 10)}
	known, id, err := last.known()
	if err != nil {
		return finding{stale: true}, nil //nolint:nilerr // not one of our events
	}
	v.stored = id == o.msg.UUID && bytes.Equal(last.Data, o.wire.Data) // two writers can mean different things by one version
	l.index.set(hash, known)
	return v, nil
}
