package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// LoadCursor reads a small JSON document that a source or sink keeps about its
// progress, into v. It returns false when there is none. The name consists of
// tokens as [schema.EscapeToken] makes them, joined by dots.
func (l *Log) LoadCursor(ctx context.Context, name string, v any) (bool, error) {
	return l.loadJSON(ctx, CursorBucket, name, v)
}

// SaveCursor stores such a document; when it returns nil, it is on disk.
func (l *Log) SaveCursor(ctx context.Context, name string, v any) error {
	return l.saveJSON(ctx, CursorBucket, name, v)
}

// LoadCoverage and SaveCoverage do the same in the bucket of closed windows.
func (l *Log) LoadCoverage(ctx context.Context, name string, v any) (bool, error) {
	return l.loadJSON(ctx, CoverageBucket, name, v)
}

// SaveCoverage stores a closed window.
func (l *Log) SaveCoverage(ctx context.Context, name string, v any) error {
	return l.saveJSON(ctx, CoverageBucket, name, v)
}

func (l *Log) loadJSON(ctx context.Context, bucket, name string, v any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	entry, err := l.kv[bucket].Get(ctx, name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("bucket %s, key %s: %w", bucket, name, err)
	}
	if err := json.Unmarshal(entry.Value(), v); err != nil {
		return false, fmt.Errorf("bucket %s, key %s: %w", bucket, name, err)
	}
	return true, nil
}

func (l *Log) saveJSON(ctx context.Context, bucket, name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("bucket %s, key %s: %w", bucket, name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	if _, err := l.kv[bucket].Put(ctx, name, b); err != nil {
		return fmt.Errorf("bucket %s, key %s: %w", bucket, name, err)
	}
	return nil
}
