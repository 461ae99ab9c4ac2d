package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/schema"
)

// ErrChanged says that somebody has changed a document since it was read, has
// created it meanwhile, or has deleted it: read it again.
var ErrChanged = errors.New("somebody else has changed it meanwhile")

// EndpointDocument is the definition of an endpoint, as it is stored.
type EndpointDocument struct {
	Name     string // of the endpoint
	Value    []byte // JSON, with secrets in plain or encrypted; nil when it was deleted
	Revision uint64 // grows with every change of the bucket
}

// CreateEndpoint stores a definition unless there is one of that name: then the
// error wraps [ErrChanged]. It returns the revision.
func (l *Log) CreateEndpoint(ctx context.Context, name string, value []byte) (uint64, error) {
	return l.changeEndpoint(ctx, name, func(ctx context.Context, kv jetstream.KeyValue, key string) (uint64, error) {
		return kv.Create(ctx, key, value)
	})
}

// UpdateEndpoint stores a definition on top of the revision that was read. The
// error wraps [ErrChanged] when there is a newer one.
func (l *Log) UpdateEndpoint(ctx context.Context, d EndpointDocument) (uint64, error) {
	return l.changeEndpoint(ctx, d.Name, func(ctx context.Context, kv jetstream.KeyValue, key string) (uint64, error) {
		return kv.Update(ctx, key, d.Value, d.Revision)
	})
}

// DeleteEndpoint removes a definition whose revision is still the one that was
// read. The error wraps [ErrChanged] when it is not.
func (l *Log) DeleteEndpoint(ctx context.Context, name string, revision uint64) error {
	_, err := l.changeEndpoint(ctx, name, func(ctx context.Context, kv jetstream.KeyValue, key string) (uint64, error) {
		return 0, kv.Delete(ctx, key, jetstream.LastRevision(revision))
	})
	return err
}

func (l *Log) changeEndpoint(ctx context.Context, name string, change func(context.Context, jetstream.KeyValue, string) (uint64, error)) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	kv, err := l.js.KeyValue(ctx, EndpointBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return 0, ErrNoLog
	}
	var revision uint64
	if err == nil {
		revision, err = change(ctx, kv, schema.EscapeToken(name))
	}
	if errors.Is(err, jetstream.ErrKeyExists) || refusedWith(err, outdatedCodes) {
		err = ErrChanged
	}
	if err != nil {
		return 0, fmt.Errorf("bucket %s, endpoint %s: %w", EndpointBucket, name, err)
	}
	return revision, nil
}

// LoadEndpoint returns a definition, false when there is none of that name. A
// replica that is behind may give an older one, whose revision no change takes.
func (l *Log) LoadEndpoint(ctx context.Context, name string) (EndpointDocument, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	d := EndpointDocument{Name: name}
	kv, err := l.js.KeyValue(ctx, EndpointBucket)
	var entry jetstream.KeyValueEntry
	if err == nil {
		entry, err = kv.Get(ctx, schema.EscapeToken(name))
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrKeyNotFound) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("bucket %s, endpoint %s: %w", EndpointBucket, name, err)
	}
	d.Value, d.Revision = entry.Value(), entry.Revision()
	return d, true, nil
}

// ListEndpoints returns all definitions, in no order.
func (l *Log) ListEndpoints(ctx context.Context) ([]EndpointDocument, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	var all []EndpointDocument
	err := l.readKeys(ctx, EndpointBucket, jetstream.AllKeys, func(e jetstream.KeyValueEntry) bool {
		if e == nil {
			return false
		}
		if name, err := schema.UnescapeToken(e.Key()); err == nil && e.Operation() == jetstream.KeyValuePut {
			all = append(all, EndpointDocument{Name: name, Value: e.Value(), Revision: e.Revision()})
		}
		return true
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", EndpointBucket, err)
	}
	return all, nil
}

// WatchEndpoints tells every definition there is, and then every change, until
// ctx ends: then the channel is closed. A definition may come again, as it stands
// then, after the connection was lost; the revision tells. It takes a bucket that
// is not there for an empty one, and looks for it again.
func (l *Log) WatchEndpoints(ctx context.Context) <-chan EndpointDocument {
	out := make(chan EndpointDocument)
	go func() {
		defer close(out)
		l.watchKeys(ctx, EndpointBucket, jetstream.AllKeys, func(e jetstream.KeyValueEntry) {
			name, err := schema.UnescapeToken(e.Key())
			if err != nil {
				return // nobody can have added it
			}
			d := EndpointDocument{Name: name, Revision: e.Revision()}
			if e.Operation() == jetstream.KeyValuePut {
				d.Value = e.Value()
			}
			select {
			case out <- d:
			case <-ctx.Done():
			}
		})
	}()
	return out
}
