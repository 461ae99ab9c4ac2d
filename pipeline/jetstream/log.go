package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config says where the log is.
type Config struct {
	// URL of the NATS server or servers, comma separated.
	URL string
	// Auth says who the client is.
	Auth Auth
	// TLS says how the connection is encrypted.
	TLS TLSConfig
	// Name of the connection, as the server lists it. Empty means "orderwire".
	Name string
	// Streams are created or brought up to date by [Open]; where data would go,
	// it refuses that with a [MigrationError].
	Streams StreamConfig
	// ReadOnly leaves streams and buckets as they are; they must exist.
	ReadOnly bool
	// GiveUpAfter is how long to try to reconnect before the connection is closed
	// for good and subscriptions end; 0 means for ever.
	GiveUpAfter time.Duration
	// Timeout bounds one request to the server; 0 means 10 s.
	Timeout time.Duration
	// Logger gets connection changes, and what Open changes about streams. Nil
	// discards them.
	Logger *slog.Logger
}

// ErrNoLog says that the server has no order log yet.
var ErrNoLog = errors.New("the NATS server holds no order log yet; start `orderwire run` first")

// Log is a connection to the order log.
type Log struct {
	cfg    Config
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	state  jetstream.Stream
	kv     map[string]jetstream.KeyValue // cursors and coverage, by bucket
	index  index
	// batches holds a token for each batch under way.
	batches chan struct{}
}

// Open connects, makes sure that streams and buckets are as configured, and
// returns the log. It does not load the state index; see [Log.LoadIndex].
func Open(ctx context.Context, cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	nc, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, nc: nc, batches: make(chan struct{}, batchesAtOnce)}
	if err := l.open(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return l, nil
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "orderwire"
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// startJetStream checks what is connected to.
func startJetStream(nc *nats.Conn, cfg Config) (jetstream.JetStream, error) {
	if enabled, _ := nc.ConnectedServerJetStream(); !enabled {
		return nil, hint(jetstream.ErrJetStreamNotEnabled)
	}
	if err := checkVersion(nc); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(cfg.Timeout), jetstream.WithPublishAsyncTimeout(cfg.Timeout))
	if err != nil {
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	return js, nil
}

// streamConfig returns the settings of the streams on a server.
func (c Config) streamConfig(nc *nats.Conn) StreamConfig {
	s := c.Streams
	s.asyncState = asyncState(nc.ConnectedServerName())
	return s
}

// Inspection is what [Inspect] found.
type Inspection struct {
	Server  string       // its address, without secrets
	Streams []StreamPlan // what [Open] would do about each
}

// Inspect connects and says what [Open] would create or change, and what it
// would refuse, without doing it.
func Inspect(ctx context.Context, cfg Config) (*Inspection, error) {
	cfg = cfg.withDefaults()
	nc, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := startJetStream(nc, cfg)
	if err != nil {
		return nil, err
	}
	plans, err := inspect(ctx, js, cfg.streamConfig(nc))
	if err != nil {
		return nil, err
	}
	return &Inspection{Server: nc.ConnectedUrlRedacted(), Streams: plans}, nil
}

const (
	// startLimit bounds how long [Open] waits for a cluster that has no leader yet.
	startLimit = time.Minute
	// startAttempt bounds one look at the streams, and making them.
	startAttempt = 15 * time.Second
)

func (l *Log) open(ctx context.Context) (err error) {
	if l.js, err = startJetStream(l.nc, l.cfg); err != nil {
		return err
	}
	return untilAvailable(ctx, startLimit, startAttempt, l.openStreams)
}

func (l *Log) openStreams(ctx context.Context) (err error) {
	if !l.cfg.ReadOnly {
		if err := ensure(ctx, l.js, l.cfg.streamConfig(l.nc), l.cfg.Logger); err != nil {
			return err
		}
	}
	if l.stream, err = l.js.Stream(ctx, StreamName); err == nil {
		l.state, err = l.js.Stream(ctx, stateStream)
	}
	if err == nil {
		err = l.openBuckets(ctx)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return ErrNoLog
	}
	return err
}

// openBuckets looks the buckets up once; every save would ask the server again.
func (l *Log) openBuckets(ctx context.Context) error {
	l.kv = make(map[string]jetstream.KeyValue)
	for _, bucket := range []string{CursorBucket, CoverageBucket} {
		kv, err := l.js.KeyValue(ctx, bucket)
		if err != nil {
			return fmt.Errorf("bucket %s: %w", bucket, err)
		}
		l.kv[bucket] = kv
	}
	return nil
}

// Last returns the sequence of the newest message in the log, 0 when it holds
// none.
func (l *Log) Last(ctx context.Context) (uint64, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", StreamName, err)
	}
	if info.State.Msgs == 0 {
		return 0, nil
	}
	return info.State.LastSeq, nil
}

// Server returns the address of the server of the connection, without secrets.
func (l *Log) Server() string { return l.nc.ConnectedUrlRedacted() }

// Close ends the connection after what was sent has left.
func (l *Log) Close() error {
	if l.nc.IsClosed() {
		return nil
	}
	err := l.nc.FlushTimeout(time.Second)
	l.nc.Close()
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrConnectionClosed) {
		return nil // nothing was pending that somebody waits for: publishing is synchronous
	}
	return err
}

// Consumer returns what the server knows of a durable consumer: how far it
// got, and how much is waiting.
func (l *Log) Consumer(ctx context.Context, durable string) (*jetstream.ConsumerInfo, error) {
	c, err := l.stream.Consumer(ctx, durable)
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", durable, err)
	}
	return c.Info(ctx)
}

// Bounds returns the sequences of the oldest and the newest message that the log
// has; when it holds none any more, first is last + 1.
func (l *Log) Bounds(ctx context.Context) (first, last uint64, err error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", StreamName, err)
	}
	if info.State.Msgs == 0 {
		return info.State.LastSeq + 1, info.State.LastSeq, nil
	}
	return info.State.FirstSeq, info.State.LastSeq, nil
}

// First returns the sequence of the oldest message that the log has, or, when it
// holds none, of the one to come.
func (l *Log) First(ctx context.Context) (uint64, error) {
	first, _, err := l.Bounds(ctx)
	return first, err
}
