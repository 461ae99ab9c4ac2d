package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// headerStreamSource is set by the server on a sourced message: stream name,
// sequence, filter and transform, separated by spaces.
const headerStreamSource = "Nats-Stream-Source"

// index is what the writer knows of every order, by a 128-bit hash of its key.
type index struct {
	mu     sync.RWMutex
	orders map[xxh3.Uint128]pipeline.Known
}

func newIndex() *index { return &index{orders: make(map[xxh3.Uint128]pipeline.Known)} }

func hashKey(key string) xxh3.Uint128 { return xxh3.HashString128(key) }

// keyOfFilter returns the key in the filter that [schema.OrderKey.Subjects] makes.
func keyOfFilter(filter string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filter, schema.SubjectRoot+"."), ".*")
}

func (x *index) get(h xxh3.Uint128) (pipeline.Known, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	k, ok := x.orders[h]
	return k, ok
}

// set stores what is known unless something newer is.
func (x *index) set(h xxh3.Uint128, k pipeline.Known) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, ok := x.orders[h]; !ok || k.Version >= old.Version {
		x.orders[h] = k
	}
}

// touch notes the hash of a record that gave no change at this version.
func (x *index) touch(h xxh3.Uint128, version, content uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k, ok := x.orders[h]; ok && k.Version == version {
		k.Content = content
		x.orders[h] = k
	}
}

// Known returns what the index holds of an order. It may be behind the log
// when another process writes; publishing then says so.
func (l *Log) Known(key schema.OrderKey) (pipeline.Known, bool) {
	return l.index.get(hashKey(key.String()))
}

// Touch notes that a record with this content hash is no change from the given
// version of its order, so that the same bytes need not be compared again.
func (l *Log) Touch(key schema.OrderKey, version, content uint64) {
	l.index.touch(hashKey(key.String()), version, content)
}

// Orders returns the number of orders in the index.
func (l *Log) Orders() int {
	l.index.mu.RLock()
	defer l.index.mu.RUnlock()
	return len(l.index.orders)
}

// LoadIndex reads the index from the state bucket's headers, then from the
// stream's tail that the bucket has not taken in yet.
func (l *Log) LoadIndex(ctx context.Context) error {
	var newest uint64
	err := scanHeaders(ctx, l.js, stateStream, 1, func(m jetstream.Msg) error {
		seq, err := sourceSequence(m.Headers().Get(headerStreamSource))
		if err != nil {
			return err
		}
		newest = max(newest, seq)
		return l.index.learn(strings.TrimPrefix(m.Subject(), statePrefix), seq, m.Headers())
	})
	if err != nil {
		return fmt.Errorf("state index from bucket %s: %w", StateBucket, err)
	}
	err = scanHeaders(ctx, l.js, StreamName, newest+1, func(m jetstream.Msg) error {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		key, _, err := schema.ParseSubject(m.Subject())
		if err != nil {
			return nil //nolint:nilerr // a message that somebody else put there is no order's state
		}
		return l.index.learn(key.String(), meta.Sequence.Stream, m.Headers())
	})
	if err != nil {
		return fmt.Errorf("state index from stream %s: %w", StreamName, err)
	}
	return nil
}

// learn takes in a message's headers; one without ours is left to [Log.Load].
func (x *index) learn(key string, seq uint64, h nats.Header) error {
	version, err := strconv.ParseUint(h.Get(pipeline.MetaVersion), 10, 64)
	if err != nil {
		return nil //nolint:nilerr // not written by an Orderwire publisher
	}
	content, err := strconv.ParseUint(h.Get(pipeline.MetaContent), 16, 64)
	if err != nil {
		content = 0
	}
	x.set(hashKey(key), pipeline.Known{Sequence: seq, Version: version, Content: content})
	return nil
}

// sourceSequence reads the sequence from a Nats-Stream-Source header.
func sourceSequence(header string) (uint64, error) {
	fields := strings.Fields(header)
	if len(fields) < 2 {
		return 0, fmt.Errorf("header %s has no sequence", headerStreamSource)
	}
	return strconv.ParseUint(fields[1], 10, 64)
}

// scanHeaders calls take with the headers of all messages from a sequence to
// the present end of a stream.
func scanHeaders(ctx context.Context, js jetstream.JetStream, stream string, from uint64, take func(jetstream.Msg) error) error {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	last := s.CachedInfo().State.LastSeq
	if s.CachedInfo().State.Msgs == 0 || from > last {
		return nil
	}
	cons, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, HeadersOnly: true,
	})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	ended := false // belongs to the callback: what comes behind the end is not for us
	cc, err := cons.Consume(func(m jetstream.Msg) {
		if ended {
			return
		}
		meta, err := m.Metadata()
		if err == nil {
			err = take(m)
		}
		if ended = err != nil || meta.NumPending == 0; ended {
			done <- err
		}
	}, jetstream.PullMaxMessages(4096))
	if err != nil {
		return err
	}
	defer cc.Stop()
	select {
	case err := <-done:
		return err
	case <-cc.Closed():
		return errors.New("the scan was cut off by the server")
	case <-ctx.Done():
		return ctx.Err()
	}
}
