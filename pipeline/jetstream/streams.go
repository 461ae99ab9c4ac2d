package jetstream

import (
	"slices"
	"strings"
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
	LeaseBucket    = "orderwire_leases"
	ParkedBucket   = "orderwire_parked"
	EndpointBucket = "orderwire_endpoints"

	bucketPrefix  = "KV_"
	stateStream   = bucketPrefix + StateBucket
	statePrefix   = "$KV." + StateBucket + "."
	orderSubjects = schema.SubjectRoot + ".*.*.*.*"
	deadSubjects  = "orders_dlq"
)

const (
	// coverageAge bounds how long closed windows are remembered.
	coverageAge = 400 * 24 * time.Hour
	// leaseAge clears away leases that nobody has taken for so long.
	leaseAge = time.Hour
)

// StreamConfig says how the streams are kept. It is what [Open] makes of them:
// a stream with other settings is changed, unless data would go; see
// [MigrationError]. What is not named here, a placement for instance, stays as
// somebody has set it by hand.
type StreamConfig struct {
	// Replicas is the number of servers that hold each stream: 1, 3 or 5. 0 leaves
	// it as it is, and means 1 for a new stream.
	Replicas int
	// Memory keeps all streams in memory only: they are gone when the servers
	// that hold them stop. It cannot be changed later.
	Memory bool
	// Compress stores the log, its bucket and the dead letters with S2.
	Compress bool
	// MaxAge is how long events stay in the log; 0 means for ever. The last
	// state of every order stays in the bucket all the same.
	MaxAge time.Duration
	// MaxBytes and MaxMessages bound the log, the oldest events go first; 0
	// means no bound.
	MaxBytes, MaxMessages int64
	// MaxMessageSize is the most bytes of one event with its headers; 0 means
	// what the server allows.
	MaxMessageSize int32
	// DuplicateWindow is how long the server remembers the ids of events; 0
	// leaves it to the server, which means 2 minutes. The log does not rely on
	// it: no event comes twice after the window either.
	DuplicateWindow time.Duration
	// DeadMaxAge is how long dead letters stay; 0 means for ever.
	DeadMaxAge time.Duration
	// AllowDataLoss makes changes that delete events, instead of refusing them.
	AllowDataLoss bool

	asyncState bool // see [asyncState]
}

// blueprint is a stream as it should be.
type blueprint struct {
	// base is what a new stream gets; settings complete it.
	base jetstream.StreamConfig
	// settings puts in what is configured and what Orderwire needs, into a new
	// stream as into one that exists.
	settings func(*jetstream.StreamConfig)
	// needs are the subjects that a stream must have to be ours; it may have more.
	needs []string
}

func (c StreamConfig) blueprints() []blueprint {
	return []blueprint{c.log(), c.state(), c.dead(), c.bucket(CursorBucket, "How far each account and endpoint got", 0),
		c.bucket(CoverageBucket, "Windows that were read completely", coverageAge),
		c.bucket(LeaseBucket, "Which process works on what", leaseAge), c.parked(),
		c.bucket(EndpointBucket, "Endpoints that were added by command, with their secrets", 0)}
}

func (c StreamConfig) log() blueprint {
	return blueprint{
		base: jetstream.StreamConfig{
			Name: StreamName, Description: "Order state changes, CloudEvents 1.0, one stream for all accounts",
			Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, DenyDelete: true,
		},
		needs: []string{orderSubjects},
		settings: func(s *jetstream.StreamConfig) {
			c.common(s, true)
			s.MaxAge, s.MaxBytes, s.MaxMsgs = c.MaxAge, orNone(c.MaxBytes), orNone(c.MaxMessages)
			s.MaxMsgSize, s.MaxMsgsPerSubject = orNone(c.MaxMessageSize), -1
			s.AllowAtomicPublish = true
			if c.DuplicateWindow > 0 {
				s.Duplicates = c.DuplicateWindow
			}
			if c.MaxAge > 0 {
				s.Duplicates = min(s.Duplicates, c.MaxAge) // the server's rule
			}
		},
	}
}

// stateSource is how the server copies the log into the bucket.
func stateSource() *jetstream.StreamSource {
	return &jetstream.StreamSource{Name: StreamName, SubjectTransforms: []jetstream.SubjectTransformConfig{{
		Source: orderSubjects, Destination: statePrefix + "{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}",
	}}}
}

func (c StreamConfig) state() blueprint {
	mode := jetstream.DefaultPersistMode
	if c.asyncState && !c.Memory && c.replicas() == 1 {
		mode = jetstream.AsyncPersistMode
	}
	return blueprint{
		base: jetstream.StreamConfig{
			Name: stateStream, Description: "Last event of each order, kept by the server from " + StreamName,
			Sources: []*jetstream.StreamSource{stateSource()}, MaxMsgsPerSubject: 1, DenyDelete: true, PersistMode: mode,
		},
		settings: func(s *jetstream.StreamConfig) { c.common(s, true) },
	}
}

func (c StreamConfig) dead() blueprint {
	return blueprint{
		base:  jetstream.StreamConfig{Name: DeadStreamName, Description: "Events that a sink could not take, with the reason"},
		needs: []string{deadSubjects + ".>"},
		settings: func(s *jetstream.StreamConfig) {
			c.common(s, true)
			if s.MaxAge = c.DeadMaxAge; c.DeadMaxAge > 0 {
				s.Duplicates = min(s.Duplicates, c.DeadMaxAge)
			}
		},
	}
}

// bucket is a KV bucket as NATS clients make them, with a history of 1.
func (c StreamConfig) bucket(name, description string, age time.Duration) blueprint {
	return blueprint{
		base: jetstream.StreamConfig{
			Name: bucketPrefix + name, Description: description, MaxMsgsPerSubject: 1,
			MaxAge: age, AllowRollup: true, DenyDelete: true, Discard: jetstream.DiscardNew,
		},
		needs:    []string{"$KV." + name + ".>"},
		settings: func(s *jetstream.StreamConfig) { c.common(s, false) },
	}
}

// parked is the bucket of orders whose delivery has failed. They are written in
// batches, and what marks a removed one goes by itself.
func (c StreamConfig) parked() blueprint {
	b := c.bucket(ParkedBucket, "Orders whose delivery has failed, for each endpoint", 0)
	b.settings = func(s *jetstream.StreamConfig) {
		c.common(s, false)
		s.AllowAtomicPublish, s.AllowMsgTTL = true, true
	}
	return b
}

// common are the settings that all streams share.
func (c StreamConfig) common(s *jetstream.StreamConfig, large bool) {
	s.AllowDirect, s.Storage = true, jetstream.FileStorage
	if c.Replicas > 0 || s.Replicas == 0 {
		s.Replicas = c.replicas()
	}
	if c.Memory {
		s.Storage = jetstream.MemoryStorage
	}
	if large {
		s.Compression = jetstream.NoCompression
		if c.Compress {
			s.Compression = jetstream.S2Compression
		}
	}
}

// replicas is that of a new stream.
func (c StreamConfig) replicas() int { return max(c.Replicas, 1) }

// orNone turns no bound in our notation into the server's.
func orNone[T int32 | int64](bound T) T {
	if bound == 0 {
		return -1
	}
	return bound
}

// fresh returns the configuration of a new stream.
func (b blueprint) fresh() jetstream.StreamConfig {
	c := b.base
	c.Subjects = b.needs
	c.Duplicates = defaultDuplicates
	if c.MaxAge > 0 {
		c.Duplicates = min(c.Duplicates, c.MaxAge)
	}
	b.settings(&c)
	return c
}

// defaultDuplicates is the server's window for ids.
const defaultDuplicates = 2 * time.Minute

// adapted returns the configuration of an existing stream with our settings
// put in.
func (b blueprint) adapted(old jetstream.StreamConfig) jetstream.StreamConfig {
	c := old
	b.settings(&c)
	return c
}

// foreign says why an existing stream is not ours, "" when it is.
func (b blueprint) foreign(c *jetstream.StreamConfig) string {
	for _, need := range b.needs {
		if !slices.ContainsFunc(c.Subjects, func(has string) bool { return covers(has, need) }) {
			return "its subjects are " + list(c.Subjects) + ", not " + need
		}
	}
	switch {
	case c.Mirror != nil:
		return "it is a mirror of " + c.Mirror.Name
	case c.Sealed:
		return "it is sealed, so that nothing can be written to it"
	case c.Retention != jetstream.LimitsPolicy:
		return "its retention is " + strings.ToLower(c.Retention.String()) + ", which deletes what somebody has read"
	case len(b.base.Sources) > 0 && !slices.ContainsFunc(c.Sources, isStateSource):
		return "it is not filled from stream " + StreamName
	case len(b.base.Sources) > 0 && len(c.Subjects) > 0:
		return "clients can write to its subjects " + list(c.Subjects)
	}
	return ""
}

func isStateSource(s *jetstream.StreamSource) bool {
	return s.Name == StreamName && s.External == nil && slices.Equal(s.SubjectTransforms, stateSource().SubjectTransforms)
}

// covers reports whether a subject with wildcards takes in all that another does.
func covers(wide, narrow string) bool {
	w, n := strings.Split(wide, "."), strings.Split(narrow, ".")
	for i, token := range w {
		switch {
		case token == ">":
			return len(n) > i
		case i >= len(n) || n[i] == ">" || token != "*" && token != n[i]:
			return false
		}
	}
	return len(w) == len(n)
}

func list(subjects []string) string {
	if len(subjects) == 0 {
		return "none"
	}
	return strings.Join(subjects, ", ")
}
