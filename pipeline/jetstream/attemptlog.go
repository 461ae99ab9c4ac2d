package jetstream

import (
	"cmp"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

const (
	// attemptsAge and attemptsBytes bound the attempts that are kept, unless
	// configured.
	attemptsAge   = 7 * 24 * time.Hour
	attemptsBytes = 256 << 20
	// chunkAttempts is the most attempts of a message.
	chunkAttempts = 256
	// chunkBytes is the size at which a chunk is closed before it has so many.
	chunkBytes = 256 << 10
	// chunkAge is how long an attempt waits for more to come into its chunk.
	chunkAge = 250 * time.Millisecond
)

// attempts is the stream of chunks of attempts, always compressed: they are
// texts much like each other.
func (c StreamConfig) attempts() blueprint {
	return blueprint{
		base: jetstream.StreamConfig{
			Name: AttemptStreamName, Description: "Attempts to deliver, JSON lines, in chunks", Retention: jetstream.LimitsPolicy,
			Discard: jetstream.DiscardOld, PersistMode: c.unsynced(),
		},
		needs: []string{attemptSubjects + ".>"}, expendable: true,
		settings: func(s *jetstream.StreamConfig) {
			c.common(s, false)
			s.MaxAge, s.MaxBytes = cmp.Or(c.AttemptsMaxAge, attemptsAge), cmp.Or(c.AttemptsMaxBytes, attemptsBytes)
			s.Duplicates = min(s.Duplicates, s.MaxAge)
			if !c.Memory {
				s.Compression = jetstream.S2Compression
			}
		},
	}
}

// chunkKey is what all attempts of a chunk have in common.
type chunkKey struct {
	endpoint string
	outcome  pipeline.Outcome
}

// subject is that of a chunk; "" stands for any endpoint or outcome.
func (k chunkKey) subject() string {
	endpoint, outcome := "*", "*"
	if k.endpoint != "" {
		endpoint = schema.EscapeToken(k.endpoint)
	}
	if k.outcome != "" {
		outcome = schema.EscapeToken(string(k.outcome))
	}
	return attemptSubjects + "." + endpoint + "." + outcome
}
