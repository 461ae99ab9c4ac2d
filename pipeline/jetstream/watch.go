package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// DeleteCursor removes a document that SaveCursor has stored. That there is none
// is no error.
func (l *Log) DeleteCursor(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if err := l.kv[CursorBucket].Delete(ctx, name); err != nil {
		return fmt.Errorf("bucket %s, key %s: %w", CursorBucket, name, err)
	}
	return nil
}

// WatchCursor tells how a document stands and then every change of it, by any
// process, until ctx ends: then the channel is closed. A value that was not taken
// is replaced by a newer one; nil says that the document is gone. When it returns,
// no later change is missed.
func (l *Log) WatchCursor(ctx context.Context, name string) (<-chan []byte, error) {
	w, err := l.kv[CursorBucket].Watch(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("bucket %s, key %s: %w", CursorBucket, name, err)
	}
	out := make(chan []byte, 1)
	latest := func(e jetstream.KeyValueEntry) {
		var value []byte
		if e.Operation() == jetstream.KeyValuePut {
			value = e.Value()
		}
		select {
		case <-out:
		default:
		}
		out <- value
	}
	go func() {
		defer close(out)
		drainKeys(ctx, w, latest)
		l.watchKeys(ctx, CursorBucket, name, latest)
	}()
	return out, nil
}

// watchKeys gives every key that there is and every change, until ctx ends. A
// watch that the server ends, or that cannot begin, is begun again.
func (l *Log) watchKeys(ctx context.Context, bucket, keys string, take func(jetstream.KeyValueEntry)) {
	retry := newPause(consumerPause)
	for ctx.Err() == nil {
		kv, err := l.js.KeyValue(ctx, bucket)
		if err == nil {
			var w jetstream.KeyWatcher
			if w, err = kv.Watch(ctx, keys); err == nil {
				retry.Reset()
				drainKeys(ctx, w, take)
			}
		}
		if ctx.Err() != nil || l.nc.IsClosed() {
			return
		}
		if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
			l.cfg.Logger.Warn("a bucket cannot be watched, trying again", "bucket", bucket, "error", err)
		}
		if !waitFor(ctx, retry.NextBackOff()) {
			return
		}
	}
}

func drainKeys(ctx context.Context, w jetstream.KeyWatcher, take func(jetstream.KeyValueEntry)) {
	defer func() { _ = w.Stop() }() // the server forgets the consumer by itself
	for {
		select {
		case e, open := <-w.Updates():
			if !open {
				return
			}
			if e != nil {
				take(e)
			}
		case <-ctx.Done():
			return
		}
	}
}

// readKeys gives the keys that there are, and nil at their end, until take
// returns false.
func (l *Log) readKeys(ctx context.Context, bucket, keys string, take func(jetstream.KeyValueEntry) bool) error {
	kv, err := l.js.KeyValue(ctx, bucket)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, keys)
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // the server forgets the consumer by itself
	for {
		select {
		case e, open := <-w.Updates():
			if !open {
				return fmt.Errorf("reading was cut off: %w", context.Cause(ctx))
			}
			if !take(e) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
