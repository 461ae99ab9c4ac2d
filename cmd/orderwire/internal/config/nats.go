package config

import (
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// NATS says where the log is, and how it is kept.
type NATS struct {
	// URL of the servers, comma separated; empty (default) runs one in this
	// process. A secret, because it may hold a user and password.
	URL Secret `yaml:"url" env:"URL"`
	// CredentialsFile, NKeyFile and Token are ways to authenticate, of which a
	// server takes one: a .creds file, a file with an nkey's seed, a token.
	// Default none.
	CredentialsFile string `yaml:"credentials_file" env:"CREDENTIALS_FILE"`
	NKeyFile        string `yaml:"nkey_file" env:"NKEY_FILE"`
	Token           Secret `yaml:"token" env:"TOKEN"`
	// TLS says how the connection is encrypted; by default as the server asks.
	TLS TLS `yaml:"tls" envPrefix:"TLS_"`
	// Listen is the address of the embedded server, default 127.0.0.1:0, any
	// free port; the file DATA_DIR/nats.url says which.
	Listen string `yaml:"listen" env:"LISTEN"`

	// Replicas of each stream: 1, 3 or 5; 0 (default) leaves them as they are,
	// and means 1 for a new stream.
	Replicas int `yaml:"replicas" env:"REPLICAS"`
	// Storage of the streams: "file" (default) or "memory", where they are gone
	// when the servers stop. Not to be changed later.
	Storage string `yaml:"storage" env:"STORAGE"`
	// Compression of log, bucket and dead letters: "none" (default) or "s2".
	Compression string `yaml:"compression" env:"COMPRESSION"`
	// MaxAge is how long events stay in the log; 0 (default) for ever.
	MaxAge Duration `yaml:"max_age" env:"MAX_AGE"`
	// MaxBytes and MaxMessages bound the log, the oldest events go first; 0
	// (default) for no bound.
	MaxBytes    Bytes `yaml:"max_bytes" env:"MAX_BYTES"`
	MaxMessages int64 `yaml:"max_messages" env:"MAX_MESSAGES"`
	// MaxMessageSize is the most bytes of one event; 0 (default) for what the
	// server allows, usually 1 MiB.
	MaxMessageSize Bytes `yaml:"max_message_size" env:"MAX_MESSAGE_SIZE"`
	// DuplicateWindow is how long the server remembers the ids of events,
	// default 2m.
	DuplicateWindow Duration `yaml:"duplicate_window" env:"DUPLICATE_WINDOW"`
	// DeadLettersMaxAge is how long dead letters stay; 0 (default) for ever.
	DeadLettersMaxAge Duration `yaml:"dead_letters_max_age" env:"DEAD_LETTERS_MAX_AGE"`
	// AttemptsMaxAge and AttemptsMaxBytes bound the log of webhook attempts, which
	// can be made smaller at any time; 0 (default) for 7d and 256MiB.
	AttemptsMaxAge   Duration `yaml:"attempts_max_age" env:"ATTEMPTS_MAX_AGE"`
	AttemptsMaxBytes Bytes    `yaml:"attempts_max_bytes" env:"ATTEMPTS_MAX_BYTES"`
	// AllowDataLoss lets a start delete the events that exceed new bounds; by
	// default it refuses to.
	AllowDataLoss bool `yaml:"allow_data_loss" env:"ALLOW_DATA_LOSS"`
	// SkipAgedOut lets sinks pass over events up to this sequence that left the log
	// before they took them; by default (0) a sink stands still there.
	SkipAgedOut uint64 `yaml:"skip_aged_out" env:"SKIP_AGED_OUT"`
}

// TLS says how the connection to NATS is encrypted. Each field makes it
// compulsory.
type TLS struct {
	// CAFile holds the certificates, in PEM form, that the server's is checked
	// against; default those of the system.
	CAFile string `yaml:"ca_file" env:"CA_FILE"`
	// CertFile and KeyFile are the client's certificate; default none.
	CertFile string `yaml:"cert_file" env:"CERT_FILE"`
	KeyFile  string `yaml:"key_file" env:"KEY_FILE"`
	// HandshakeFirst is for servers that are set up with handshake_first.
	HandshakeFirst bool `yaml:"handshake_first" env:"HANDSHAKE_FIRST"`
}

func natsDefaults() NATS {
	return NATS{Listen: "127.0.0.1:0", Storage: "file", Compression: "none"}
}

// Log returns the settings of a connection to the log at an address, which is
// that of nats.url, or of an embedded server.
func (n *NATS) Log(address string, log *slog.Logger) jetstream.Config {
	return jetstream.Config{
		URL: address, Logger: log,
		Auth:    jetstream.Auth{CredentialsFile: n.CredentialsFile, NKeyFile: n.NKeyFile, Token: string(n.Token)},
		TLS:     jetstream.TLSConfig(n.TLS),
		Streams: n.streams(),
	}
}

func (n *NATS) streams() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Replicas: n.Replicas, Memory: n.Storage == "memory", Compress: n.Compression == "s2",
		MaxAge: time.Duration(n.MaxAge), MaxBytes: int64(n.MaxBytes), MaxMessages: n.MaxMessages,
		MaxMessageSize: int32(n.MaxMessageSize), DuplicateWindow: time.Duration(n.DuplicateWindow),
		DeadMaxAge: time.Duration(n.DeadLettersMaxAge), AllowDataLoss: n.AllowDataLoss,
		AttemptsMaxAge: time.Duration(n.AttemptsMaxAge), AttemptsMaxBytes: int64(n.AttemptsMaxBytes),
	}
}

func (n *NATS) check(k *checker) {
	n.checkStreams(k)
	k.address("nats.listen", n.Listen)
	if n.URL == "" {
		n.checkEmbedded(k)
		return
	}
	n.checkURL(k)
	n.checkAuth(k)
	if (n.TLS.CertFile == "") != (n.TLS.KeyFile == "") {
		k.add("nats.tls", "give both cert_file and key_file, or neither", "half of a client certificate")
	}
}

func (n *NATS) checkStreams(k *checker) {
	if !slices.Contains([]int{0, 1, 3, 5}, n.Replicas) {
		k.add("nats.replicas", "1, 3 or 5", "%d replicas", n.Replicas)
	}
	if n.Storage != "file" && n.Storage != "memory" {
		k.add("nats.storage", "file or memory", "%q is no kind of storage", n.Storage)
	}
	if n.Compression != "none" && n.Compression != "s2" {
		k.add("nats.compression", "none or s2", "%q is no kind of compression", n.Compression)
	}
	if n.Storage == "memory" && n.Compression == "s2" {
		k.add("nats.compression", "leave compression out", "what is in memory is not compressed")
	}
	if n.MaxMessages < 0 {
		k.add("nats.max_messages", "0 for no bound", "%d messages", n.MaxMessages)
	}
	if n.MaxMessageSize > 64<<20 {
		k.add("nats.max_message_size", "at most 64MiB, as NATS", "%d bytes", n.MaxMessageSize)
	}
	if n.MaxAge > 0 && n.DuplicateWindow > n.MaxAge {
		k.add("nats.duplicate_window", "at most nats.max_age", "longer than the events stay")
	}
	if n.AttemptsMaxBytes != 0 && n.AttemptsMaxBytes < 1<<20 {
		k.add("nats.attempts_max_bytes", "at least 1MiB, or 0 for 256MiB", "%d bytes", n.AttemptsMaxBytes)
	}
	for _, d := range []struct {
		path string
		v    Duration
	}{{"nats.max_age", n.MaxAge}, {"nats.dead_letters_max_age", n.DeadLettersMaxAge}, {"nats.attempts_max_age", n.AttemptsMaxAge},
		{"nats.duplicate_window", n.DuplicateWindow}} {
		if d.v != 0 && time.Duration(d.v) < 100*time.Millisecond {
			k.add(d.path, "at least 100ms, as NATS", "the span is too short")
		}
	}
}

// checkEmbedded refuses what the embedded server has no use for.
func (n *NATS) checkEmbedded(k *checker) {
	if n.Replicas > 1 {
		k.add("nats.replicas", "set nats.url to a cluster, or leave replicas at 1", "the embedded server is a single one")
	}
	for _, s := range n.ways() {
		k.add(s, "set nats.url", "credentials are of no use with the embedded server")
	}
	if n.TLS != (TLS{}) {
		k.add("nats.tls", "set nats.url", "TLS is of no use with the embedded server")
	}
}

// ways lists the settings that say who the client is.
func (n *NATS) ways() []string {
	var set []string
	for _, s := range []struct{ path, value string }{
		{"nats.credentials_file", n.CredentialsFile}, {"nats.nkey_file", n.NKeyFile}, {"nats.token", string(n.Token)},
	} {
		if s.value != "" {
			set = append(set, s.path)
		}
	}
	return set
}

// checkURL never quotes the URL, which may hold a password.
func (n *NATS) checkURL(k *checker) {
	for one := range strings.SplitSeq(string(n.URL), ",") {
		u, err := parseServer(one)
		switch {
		case err != nil || u.Host == "":
			k.add("nats.url", "write nats://host:4222, several separated by commas", "not the address of a server")
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			k.add("nats.url", "nats, tls, ws or wss", "there is no scheme %q", u.Scheme)
		case u.Scheme == "ws" && n.TLS != (TLS{}):
			k.add("nats.tls", "write wss:// in nats.url", "ws:// is without TLS")
		}
	}
}

func parseServer(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}

func (n *NATS) checkAuth(k *checker) {
	ways := n.ways()
	for one := range strings.SplitSeq(string(n.URL), ",") {
		if u, err := parseServer(one); err == nil && u.User != nil {
			ways = append(ways, "the user in nats.url")
			break
		}
	}
	if len(ways) > 1 {
		k.add(ways[0], "keep the one that the server asks for", "two ways to authenticate: %s", strings.Join(ways, " and "))
	}
}
