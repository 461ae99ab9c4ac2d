package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// headerStreamSource is set by the server on a sourced message: stream name,
// sequence, filter and transform, separated by spaces.
const headerStreamSource = "Nats-Stream-Source"

// index is what the writer knows of every order.
type index struct {
	table
	progress completeness
}

// keyOfFilter returns the key in the filter that [schema.OrderKey.Subjects] makes.
func keyOfFilter(filter string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filter, schema.SubjectRoot+"."), ".*")
}

// keyOfSubject cuts the key out of the subject of an event; ok is false for
// a subject of another kind.
func keyOfSubject(subject string) (key string, ok bool) {
	key, ok = strings.CutPrefix(subject, schema.SubjectRoot+".")
	end := strings.LastIndexByte(key, '.')
	if !ok || end < 0 {
		return "", false
	}
	return key[:end], true
}

// set stores what is known unless something newer is. What aged out of the
// stream has the sequence 0 and is no older for it.
func (x *index) set(hash uint64, k pipeline.Known) {
	x.update(hash, func(old pipeline.Known) pipeline.Known {
		if k.Version < old.Version {
			return old
		}
		return k
	})
}

// touch notes the hash of a record that gave no change at this version.
func (x *index) touch(hash uint64, version, content uint64) {
	x.update(hash, func(old pipeline.Known) pipeline.Known {
		if old.Version == version {
			old.Content = content
		}
		return old
	})
}

// Known returns what the index holds of an order. It may be behind the log
// when another process writes; publishing then says so.
func (l *Log) Known(key schema.OrderKey) (pipeline.Known, bool) {
	return l.index.get(hashKey(key.String()))
}

// Lookup is [Log.Known] by the key's text, for a caller who has many to look up.
func (l *Log) Lookup(key []byte) (pipeline.Known, bool) { return l.index.get(xxh3.Hash(key)) }

// Touch notes that a record with this content hash is no change from the given
// version of its order, so that the same bytes need not be compared again.
func (l *Log) Touch(key schema.OrderKey, version, content uint64) {
	l.index.touch(hashKey(key.String()), version, content)
}

// Orders returns the number of orders in the index.
func (l *Log) Orders() int {
	orders, _ := l.index.size()
	return orders
}

// LoadIndex brings the index up to date. The first call reads the state bucket's
// headers, and the stream's tail that the bucket has not taken in yet. A later
// one reads what other writers have stored since; when there is nothing, it
// costs one request.
func (l *Log) LoadIndex(ctx context.Context) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("state index from stream %s: %w", StreamName, err)
	}
	upTo, loaded := l.index.progress.state()
	if loaded && upTo >= info.State.LastSeq {
		return nil
	}
	if !loaded || upTo+1 < info.State.FirstSeq { // what is missing may have aged out of the stream
		newest, err := l.loadBucket(ctx)
		if err != nil {
			return fmt.Errorf("state index from bucket %s: %w", StateBucket, err)
		}
		upTo = max(upTo, newest)
	}
	if err := l.loadTail(ctx, upTo+1); err != nil {
		return fmt.Errorf("state index from stream %s: %w", StreamName, err)
	}
	l.index.progress.complete(info.State.LastSeq)
	return nil
}

// loadBucket returns the sequence of the newest event that the bucket has.
func (l *Log) loadBucket(ctx context.Context) (newest uint64, err error) {
	var found [scanLanes]uint64
	err = l.scan(ctx, stateStream, 1, func(lane int, _ uint64, m jetstream.Msg) error {
		seq, err := sourceSequence(m.Headers().Get(headerStreamSource))
		if err != nil {
			return err
		}
		found[lane] = max(found[lane], seq)
		l.index.learn(strings.TrimPrefix(m.Subject(), statePrefix), seq, m.Headers())
		return nil
	})
	return slices.Max(found[:]), err
}

func (l *Log) loadTail(ctx context.Context, from uint64) error {
	return l.scan(ctx, StreamName, from, func(_ int, seq uint64, m jetstream.Msg) error {
		if key, ok := keyOfSubject(m.Subject()); ok {
			l.index.learn(key, seq, m.Headers())
		}
		return nil
	})
}

// learn takes in a message's headers; one without ours is left to [Log.Load].
func (x *index) learn(key string, seq uint64, h nats.Header) {
	version, content, ok := stateHeaders(h)
	if ok {
		x.set(hashKey(key), pipeline.Known{Sequence: seq, Version: version, Content: content})
	}
}

// Headers of messages that were published before there was [pipeline.MetaState].
const (
	headerVersion = "Orderwire-Version" // decimal
	headerContent = "Orderwire-Content" // 16 hexadecimal digits
)

// stateHeaders reads what a publisher of Orderwire says of a message in its
// headers; ok is false for a message of somebody else.
func stateHeaders(h nats.Header) (version, content uint64, ok bool) {
	state := h.Get(pipeline.MetaState)
	if state == "" {
		state = h.Get(headerVersion) + "-" + h.Get(headerContent)
	}
	return pipeline.ParseState(state)
}

// sourceSequence reads the sequence from a Nats-Stream-Source header.
func sourceSequence(header string) (uint64, error) {
	_, rest, found := strings.Cut(header, " ")
	seq, _, _ := strings.Cut(rest, " ")
	if !found {
		return 0, fmt.Errorf("header %s has no sequence", headerStreamSource)
	}
	return strconv.ParseUint(seq, 10, 64)
}
