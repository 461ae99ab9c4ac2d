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
	// CredentialsFile is a NATS .creds file, "" for none.
	CredentialsFile string
	// Name of the connection, as the server lists it. Empty means "orderwire".
	Name string
	// Streams are created or brought up to date by [Open].
	Streams StreamConfig
	// ReadOnly leaves streams and buckets as they are; they must exist.
	ReadOnly bool
	// GiveUpAfter is how long to try to reconnect before the connection is closed
	// for good and subscriptions end; 0 means for ever.
	GiveUpAfter time.Duration
	// Timeout bounds one request to the server; 0 means 10 s.
	Timeout time.Duration
	// Logger gets connection changes. Nil discards them.
	Logger *slog.Logger
}

// reconnectWait is the pause between two attempts to reconnect.
const reconnectWait = 250 * time.Millisecond

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

func connect(cfg Config) (*nats.Conn, error) {
	reconnects := -1
	if cfg.GiveUpAfter > 0 {
		reconnects = int(cfg.GiveUpAfter / reconnectWait)
	}
	opts := []nats.Option{
		nats.Name(cfg.Name), nats.MaxReconnects(reconnects), nats.Timeout(cfg.Timeout), nats.ReconnectWait(reconnectWait),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() && err != nil {
				cfg.Logger.Warn("connection to NATS lost, trying again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			cfg.Logger.Info("connection to NATS is back", "server", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			cfg.Logger.Warn("NATS connection", "error", err)
		}),
	}
	if cfg.CredentialsFile != "" {
		opts = append(opts, nats.UserCredentials(cfg.CredentialsFile))
	}
	nc, err := nats.Connect(cfg.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return nc, nil
}

func (l *Log) open(ctx context.Context) error {
	if enabled, _ := l.nc.ConnectedServerJetStream(); !enabled {
		return hint(jetstream.ErrJetStreamNotEnabled)
	}
	if err := atLeast(l.nc.ConnectedServerVersion(), 2, 12); err != nil {
		return err
	}
	var err error
	if l.js, err = jetstream.New(l.nc, jetstream.WithDefaultTimeout(l.cfg.Timeout)); err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	if !l.cfg.ReadOnly {
		l.cfg.Streams.asyncState = asyncState(l.nc.ConnectedServerName())
		if err := ensure(ctx, l.js, l.cfg.Streams); err != nil {
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

// atLeast refuses servers that lack atomic batches, which came with 2.12.
func atLeast(version string, major, minor int) error {
	var gotMajor, gotMinor int
	if _, err := fmt.Sscanf(version, "%d.%d", &gotMajor, &gotMinor); err != nil {
		return fmt.Errorf("NATS server version %q: %w", version, err)
	}
	if gotMajor > major || gotMajor == major && gotMinor >= minor {
		return nil
	}
	return fmt.Errorf("NATS server %s is too old: Orderwire publishes in atomic batches, which need %d.%d or newer", version, major, minor)
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
