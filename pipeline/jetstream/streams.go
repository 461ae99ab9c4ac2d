package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/schema"
)

// Names on the server.
const (
	StreamName     = "ORDERS"     // the log
	DeadStreamName = "ORDERS_DLQ" // dead letters
	StateBucket    = "orders"     // last event of each order
	CursorBucket   = "orderwire_cursors"
	CoverageBucket = "orderwire_coverage"

	stateStream  = "KV_" + StateBucket
	statePrefix  = "$KV." + StateBucket + "."
	deadSubjects = "orders_dlq"
)

// coverageAge bounds how long closed windows are remembered.
const coverageAge = 400 * 24 * time.Hour

// StreamConfig says how the streams are kept.
type StreamConfig struct {
	// Replicas is the number of servers that hold each stream: 1, 3 or 5. 0 means 1.
	Replicas int
	// MaxAge is how long events stay in the log; 0 means for ever. The last
	// state of every order stays in the bucket all the same.
	MaxAge time.Duration

	asyncState bool // see [asyncState]
}

func (c StreamConfig) replicas() int { return max(c.Replicas, 1) }

func (c StreamConfig) log() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamName, Description: "Order state changes, CloudEvents 1.0, one stream for all accounts",
		Subjects: []string{schema.SubjectRoot + ".*.*.*.*"}, Storage: jetstream.FileStorage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxAge: c.MaxAge, Replicas: c.replicas(),
		AllowAtomicPublish: true, AllowDirect: true, DenyDelete: true,
	}
}

func (c StreamConfig) state() jetstream.StreamConfig {
	mode := jetstream.DefaultPersistMode
	if c.asyncState && c.replicas() == 1 {
		mode = jetstream.AsyncPersistMode
	}
	return jetstream.StreamConfig{
		Name: stateStream, Description: "Last event of each order, kept by the server from " + StreamName,
		Sources: []*jetstream.StreamSource{{Name: StreamName, SubjectTransforms: []jetstream.SubjectTransformConfig{{
			Source:      schema.SubjectRoot + ".*.*.*.*",
			Destination: statePrefix + "{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}",
		}}}},
		Storage: jetstream.FileStorage, Replicas: c.replicas(), MaxMsgsPerSubject: 1,
		AllowDirect: true, DenyDelete: true, PersistMode: mode,
	}
}

func (c StreamConfig) dead() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: DeadStreamName, Description: "Events that a sink could not take, with the reason",
		Subjects: []string{deadSubjects + ".>"}, Storage: jetstream.FileStorage, Replicas: c.replicas(), AllowDirect: true,
	}
}

// ensure creates the streams and buckets, or brings their settings up to date.
func ensure(ctx context.Context, js jetstream.JetStream, c StreamConfig) error {
	for _, cfg := range []jetstream.StreamConfig{c.log(), c.state(), c.dead()} {
		if s, err := js.Stream(ctx, cfg.Name); err == nil {
			cfg.PersistMode = s.CachedInfo().Config.PersistMode // it cannot be changed
		}
		if _, err := js.CreateOrUpdateStream(ctx, cfg); err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, hint(err))
		}
	}
	for _, cfg := range []jetstream.KeyValueConfig{
		{Bucket: CursorBucket, Description: "How far each account and endpoint got", Replicas: c.replicas(), History: 1},
		{Bucket: CoverageBucket, Description: "Windows that were read completely", Replicas: c.replicas(), TTL: coverageAge},
	} {
		if _, err := js.CreateOrUpdateKeyValue(ctx, cfg); err != nil {
			return fmt.Errorf("bucket %s: %w", cfg.Bucket, hint(err))
		}
	}
	return nil
}

// hint adds what to do to errors that a new installation meets.
func hint(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w (start the NATS server with JetStream: nats-server -js)", err)
	default:
		return err
	}
}
