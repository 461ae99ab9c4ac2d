package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

const (
	// parkedFence is the key that is written before reading, within an endpoint.
	parkedFence = "fence"
	// parkedGone is how long the server keeps the mark of a removed key.
	parkedGone = "1h"

	headerOperation = "KV-Operation"
	operationDelete = "DEL"
)

var _ pipeline.ParkedStore = (*Log)(nil)

// LoadParked gives all orders that an endpoint has parked. It writes a key and
// reads until that comes: a replica that is behind would leave some out
// otherwise, whose events nobody would deliver then.
func (l *Log) LoadParked(ctx context.Context, endpoint string, take func(pipeline.Parked)) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := l.loadParked(ctx, schema.EscapeToken(endpoint), take); err != nil {
		return fmt.Errorf("bucket %s, endpoint %s: %w", ParkedBucket, endpoint, err)
	}
	return nil
}

func (l *Log) loadParked(ctx context.Context, prefix string, take func(pipeline.Parked)) error {
	kv, err := l.js.KeyValue(ctx, ParkedBucket)
	if err != nil {
		return err
	}
	fence, err := kv.Put(ctx, prefix+"."+parkedFence, nil)
	if err != nil {
		return err
	}
	w, err := kv.Watch(ctx, prefix+".>", jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // the server forgets the consumer by itself
	for {
		select {
		case e, open := <-w.Updates():
			switch {
			case !open:
				return fmt.Errorf("reading was cut off: %w", context.Cause(ctx))
			case e == nil: // the end, as this replica sees it
			case e.Revision() >= fence:
				return nil
			case e.Key() != prefix+"."+parkedFence:
				p, err := readParked(e.Key()[len(prefix)+1:], e.Value())
				if err != nil {
					return fmt.Errorf("key %s: %w", e.Key(), err)
				}
				take(p)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// SaveParked stores and removes parked orders, in atomic batches of up to
// [MaxBatch].
func (l *Log) SaveParked(ctx context.Context, endpoint string, put, gone []pipeline.Parked) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	prefix := bucketSubject(ParkedBucket) + schema.EscapeToken(endpoint) + "."
	messages := make([]*nats.Msg, 0, len(put)+len(gone))
	for i := range put {
		m := nats.NewMsg(prefix + parkedKey(&put[i]))
		var err error
		if m.Data, err = json.Marshal(&put[i]); err != nil {
			return fmt.Errorf("bucket %s: %w", ParkedBucket, err)
		}
		messages = append(messages, m)
	}
	for i := range gone {
		m := nats.NewMsg(prefix + parkedKey(&gone[i]))
		m.Header.Set(headerOperation, operationDelete)
		m.Header.Set(jetstream.MsgTTLHeader, parkedGone)
		messages = append(messages, m)
	}
	for batch := range slices.Chunk(messages, MaxBatch) {
		if err := l.putBatch(ctx, batch); err != nil {
			return fmt.Errorf("bucket %s, endpoint %s: %w", ParkedBucket, endpoint, err)
		}
	}
	return nil
}

// putBatch stores messages all or none; the same ones may be stored again.
func (l *Log) putBatch(ctx context.Context, messages []*nats.Msg) error {
	return untilAvailable(ctx, l.cfg.Timeout, l.cfg.Timeout, func(ctx context.Context) error {
		batch := make([]outgoing, len(messages))
		for i, m := range messages {
			batch[i].wire = m
		}
		_, err := publishBatch(ctx, l.nc, batch)
		return err
	})
}

func bucketSubject(bucket string) string { return "$KV." + bucket + "." }

// parkedKey is the order's key, for a single event with its sequence behind it.
func parkedKey(p *pipeline.Parked) string {
	if p.Single == 0 {
		return p.Key.String()
	}
	return p.Key.String() + "." + strconv.FormatUint(p.Single, 10)
}

func readParked(key string, value []byte) (p pipeline.Parked, err error) {
	if err := json.Unmarshal(value, &p); err != nil {
		return p, err
	}
	if p.Single != 0 {
		key = strings.TrimSuffix(key, "."+strconv.FormatUint(p.Single, 10))
	}
	p.Key, err = schema.ParseOrderKey(key)
	return p, err
}
