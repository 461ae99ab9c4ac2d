package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/crypto/bcrypt"
)

// urlFile, in the data directory, holds the address of the running embedded
// server with its password, readable by its owner only.
const urlFile = "nats.url"

// portFile, in the data directory, holds the port of the last start.
const portFile = "nats.port"

// userName is the embedded server's only user.
const userName = "orderwire"

// serverName is how the embedded server calls itself.
const serverName = "orderwire-embedded"

// startTimeout bounds the start of the embedded server, which first recovers
// its streams from disk.
const startTimeout = 2 * time.Minute

// ErrDirInUse says that another process runs an embedded server on the same
// data directory.
var ErrDirInUse = errors.New("another Orderwire process uses this data directory")

// EmbeddedConfig describes the nats-server that runs inside this process.
type EmbeddedConfig struct {
	// Dir is the data directory; it is created. Streams live in Dir/jetstream.
	Dir string
	// Listen is the address for other clients, host:port. Port 0 takes any free
	// one, the same as last time where possible, so that clients find the server
	// again after a restart. Empty means 127.0.0.1:0.
	Listen string
	// Wait is how long to wait for another process to give up the directory; 0
	// means not at all.
	Wait time.Duration
	// Logger gets the server's warnings and errors. Nil discards them.
	Logger *slog.Logger
}

// Embedded is a running nats-server in this process. Every write is synced to
// disk before it is acknowledged.
type Embedded struct {
	server *server.Server
	lock   *flock.Flock
	url    string
	file   string
}

// StartEmbedded starts the server and waits until it takes clients. The error
// is [ErrDirInUse] when another process holds the directory.
func StartEmbedded(ctx context.Context, cfg EmbeddedConfig) (*Embedded, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock := flock.New(filepath.Join(cfg.Dir, "nats.lock"))
	if err := acquire(ctx, lock, cfg.Wait); err != nil {
		return nil, fmt.Errorf("%w: %s", err, cfg.Dir)
	}
	e := &Embedded{lock: lock, file: filepath.Join(cfg.Dir, urlFile)}
	err := afterCrash(cfg.Dir, e.file)
	if err == nil {
		err = e.start(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, e.lock.Unlock())
	}
	return e, nil
}

func acquire(ctx context.Context, lock *flock.Flock, wait time.Duration) error {
	ok, err := lock.TryLock()
	if !ok && err == nil && wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		ok, err = lock.TryLockContext(waiting, 100*time.Millisecond)
	}
	switch {
	case ok:
		return nil
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return ErrDirInUse
	default:
		return fmt.Errorf("lock data directory: %w", err)
	}
}

func (e *Embedded) start(ctx context.Context, cfg EmbeddedConfig) error {
	password, err := savedPassword(filepath.Join(cfg.Dir, "nats.password"))
	if err != nil {
		return err
	}
	opts, err := cfg.options(password)
	if err != nil {
		return err
	}
	if e.server, err = server.NewServer(opts); err != nil {
		return fmt.Errorf("embedded nats-server: %w", err)
	}
	log := newServerLog(cfg.Logger)
	e.server.SetLoggerV2(log, false, false, false)
	go e.server.Start()
	if err := e.awaitReady(ctx, log); err != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
		return err
	}
	address := url.URL{Scheme: "nats", User: url.UserPassword(userName, password), Host: e.server.Addr().String()}
	e.url = address.String()
	_, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		return fmt.Errorf("embedded nats-server: %w", err)
	}
	return errors.Join(writeSecret(e.file, e.url+"\n"), writeSecret(filepath.Join(cfg.Dir, portFile), port))
}

func (e *Embedded) awaitReady(ctx context.Context, log *serverLog) error {
	deadline := time.Now().Add(startTimeout)
	for !e.server.ReadyForConnections(100 * time.Millisecond) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !e.server.Running() || time.Now().After(deadline) {
			return fmt.Errorf("embedded nats-server did not start: %s", log.lastError())
		}
	}
	return nil
}

func (c EmbeddedConfig) options(password string) (*server.Options, error) {
	listen := c.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	host, portText, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("nats.listen %q: want host:port: %w", listen, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("nats.listen %q: port: %w", listen, err)
	}
	if port == 0 {
		port = lastPort(host, filepath.Join(c.Dir, portFile))
	}
	// The password is random, so the cheapest hash will do.
	hashed, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return nil, fmt.Errorf("nats password: %w", err)
	}
	return &server.Options{
		ServerName: serverName, Host: host, Port: port, Username: userName, Password: string(hashed),
		JetStream: true, StoreDir: c.Dir, SyncAlways: true, SyncInterval: syncInterval, NoSigs: true, NoSystemAccount: false,
		MaxPayload: 8 << 20, MaxControlLine: 16 << 10, DisableJetStreamBanner: true,
	}, nil
}

// URL returns the address for clients, password included.
func (e *Embedded) URL() string { return e.url }

// Address returns the address for people, without the password.
func (e *Embedded) Address() string { return "nats://" + e.server.Addr().String() }

// Close stops the server, with everything on disk, and releases the directory.
func (e *Embedded) Close() error {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	return errors.Join(os.Remove(e.file), e.lock.Unlock())
}

// RunningURL returns the address of the embedded server that some process runs
// on the data directory. The error wraps [os.ErrNotExist] when none does; after
// a crash the address may be stale.
func RunningURL(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, urlFile))
	if err != nil {
		return "", fmt.Errorf("no embedded server runs on %s: %w", dir, err)
	}
	return string(b[:max(len(b)-1, 0)]), nil
}

// lastPort returns the port of the last start when it is still free, otherwise
// the server's notation for any port.
func lastPort(host, file string) int {
	b, err := os.ReadFile(file)
	if err != nil {
		return server.RANDOM_PORT
	}
	port, err := strconv.Atoi(string(b))
	if err != nil {
		return server.RANDOM_PORT
	}
	probe, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))) //nolint:noctx // it returns at once
	if err != nil {
		return server.RANDOM_PORT
	}
	if probe.Close() != nil {
		return server.RANDOM_PORT
	}
	return port
}

// savedPassword makes the server's password once and keeps it, so that the
// address of a subscriber stays good over restarts.
func savedPassword(file string) (string, error) {
	if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
		return string(b), nil
	}
	password := rand.Text()
	return password, writeSecret(file, password)
}

// writeSecret writes a file that only its owner can read, whole or not at all.
func writeSecret(file, content string) error {
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
