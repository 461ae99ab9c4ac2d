package network

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// pushItem is a push of the queue.
type pushItem struct {
	seq, publisher int64
	event, head    string
	attempts       int64 // made before
}

// pushOutcome is how an attempt ended; err is nil for a push that was received.
type pushOutcome struct {
	pushItem
	err error
}

// pushQueue is one run of a pusher. The goroutine of [Pusher.Run] owns it; each
// attempt has a goroutine of its own.
type pushQueue struct {
	*Pusher
	busy    map[int64]int64 // publisher of each push that is under way or not yet settled, by seq
	ended   chan pushOutcome
	settled []pushOutcome // to be written
}

// take notes how an attempt has ended, and others that have ended meanwhile.
func (q *pushQueue) take(o pushOutcome) {
	for more := true; more; {
		q.settled = append(q.settled, o)
		select {
		case o = <-q.ended:
		default:
			more = false
		}
	}
}

// turn writes how attempts have ended and begins those that are due. It returns
// how long nothing more will be due.
func (q *pushQueue) turn(ctx context.Context, senders *sync.WaitGroup) (time.Duration, error) {
	if err := q.settle(ctx); err != nil {
		return 0, err
	}
	now := time.Now().UnixMilli()
	targets, err := q.targets(ctx)
	if err != nil {
		return 0, err
	}
	for _, t := range targets {
		items, err := q.due(ctx, t.publisher, now)
		if err != nil {
			return 0, err
		}
		for _, item := range items {
			q.begin(ctx, senders, t, item)
		}
	}
	return q.untilDue(ctx, targets, now)
}

// pushRecipient is a row of push_targets.
type pushRecipient struct {
	publisher       int64
	appKey, address string
}

func (q *pushQueue) targets(ctx context.Context) ([]pushRecipient, error) {
	st, err := q.service.store.statement(ctx, `SELECT publisher_id, access_key, url FROM push_targets ORDER BY publisher_id`)
	if err != nil {
		return nil, err
	}
	return scanAll(ctx, st, nil, func(scan func(...any) error) (r pushRecipient, err error) {
		return r, scan(&r.publisher, &r.appKey, &r.address)
	})
}

// due returns the pushes of a publisher that may begin now: the first one of
// each order that is due and not under way.
func (q *pushQueue) due(ctx context.Context, publisher, now int64) ([]pushItem, error) {
	free := q.config.Concurrency
	for _, of := range q.busy {
		if of == publisher {
			free--
		}
	}
	if free <= 0 {
		return nil, nil
	}
	st, err := q.service.store.statement(ctx, `SELECT q.seq, q.publisher_id, q.event, q.head, q.attempts FROM push_queue q
		WHERE q.publisher_id = ? AND q.failed_at IS NULL AND q.due <= ? AND NOT EXISTS (
			SELECT 1 FROM push_queue b WHERE b.order_id = q.order_id AND b.failed_at IS NULL AND b.seq < q.seq)
		ORDER BY q.due, q.seq LIMIT ?`)
	if err != nil {
		return nil, err
	}
	all, err := scanAll(ctx, st, []any{publisher, now, int64(q.config.Concurrency)}, func(scan func(...any) error) (i pushItem, err error) {
		return i, scan(&i.seq, &i.publisher, &i.event, &i.head, &i.attempts)
	})
	items := all[:0]
	for _, item := range all {
		if _, under := q.busy[item.seq]; !under && len(items) < free {
			items = append(items, item)
		}
	}
	return items, err
}

// begin sends a push beside this goroutine.
func (q *pushQueue) begin(ctx context.Context, senders *sync.WaitGroup, to pushRecipient, item pushItem) {
	q.busy[item.seq] = item.publisher
	senders.Go(func() {
		writer := recordWriter{zone: q.service.config.TimeZone}
		record := writer.append(nil, item.head, "")
		q.ended <- pushOutcome{item, q.send(ctx, to.appKey, to.address, record[1:len(record)-1])}
	})
}

// finish waits for what is under way, which ends soon when ctx has, and writes
// what was received. What was cut off is as if it had not begun.
func (q *pushQueue) finish(ctx context.Context, senders *sync.WaitGroup) {
	go func() {
		senders.Wait()
		close(q.ended)
	}()
	for o := range q.ended {
		if o.err == nil {
			q.settled = append(q.settled, o)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pushFinish)
	defer cancel()
	if err := q.settle(ctx); err != nil {
		q.service.config.Logger.Error("push queue failed at the end, some pushes will be sent again", slog.Any("error", err))
	}
}

// untilDue is how long it is until a push of the targets comes due.
func (q *pushQueue) untilDue(ctx context.Context, targets []pushRecipient, now int64) (time.Duration, error) {
	wait := pushLookEvery
	for _, t := range targets {
		var due int64
		err := q.service.store.row(ctx, `SELECT COALESCE(MIN(due), 0) FROM push_queue
			WHERE publisher_id = ? AND failed_at IS NULL AND due > ?`, []any{t.publisher, now}, &due)
		if err != nil {
			return 0, fmt.Errorf("next push: %w", err)
		}
		if due > 0 {
			wait = min(wait, time.Duration(due-now)*time.Millisecond)
		}
	}
	return wait, nil
}

// settle writes how attempts have ended. What it could not write is tried again.
func (q *pushQueue) settle(ctx context.Context) error {
	if len(q.settled) == 0 {
		return nil
	}
	err := q.service.store.change(ctx, func(c *change) error {
		for _, o := range q.settled {
			if err := q.write(ctx, c, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settle pushes: %w", err)
	}
	for _, o := range q.settled {
		delete(q.busy, o.seq)
		if o.err != nil && o.attempts >= PushRetries {
			q.service.config.Logger.Warn("push given up", slog.Int64("publisher", o.publisher),
				slog.String("event", o.event), slog.Int64("attempts", o.attempts+1), slog.String("reason", pushReason(o.err)))
		}
	}
	q.settled = q.settled[:0]
	return nil
}

// write deletes a push that was received, and puts another one off or gives it
// up.
func (q *pushQueue) write(ctx context.Context, c *change, o pushOutcome) error {
	switch {
	case o.err == nil:
		return c.exec(ctx, `DELETE FROM push_queue WHERE seq = ?`, o.seq)
	case o.attempts < PushRetries:
		// Not sooner than the pause allows, so the next whole millisecond.
		due := time.Now().Add(q.config.RetryEvery + time.Millisecond - 1).UnixMilli()
		return c.exec(ctx, `UPDATE push_queue SET attempts = ?, due = ?, reason = ? WHERE seq = ?`,
			o.attempts+1, due, pushReason(o.err), o.seq)
	}
	if err := c.exec(ctx, `DELETE FROM push_queue WHERE failed_at < ?`, c.now-int64(pushFailuresKept/time.Second)); err != nil {
		return err
	}
	return c.exec(ctx, `UPDATE push_queue SET attempts = ?, failed_at = ?, reason = ? WHERE seq = ?`,
		o.attempts+1, c.now, pushReason(o.err), o.seq)
}
