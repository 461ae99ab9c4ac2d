package jetstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// TLSConfig says how the connection is encrypted. Any field of it makes TLS
// compulsory, whatever the URL says; without one, the server decides.
type TLSConfig struct {
	// CAFile holds the certificates that the server's is checked against; ""
	// for those of the system.
	CAFile string
	// CertFile and KeyFile are the client's certificate, for servers that ask
	// for one; both or none.
	CertFile, KeyFile string
	// HandshakeFirst begins with TLS at once, for servers set up with
	// handshake_first. Otherwise the server greets in plain text first.
	HandshakeFirst bool
}

// Auth says who the client is, in one way at most. A user and password can be
// in the URL instead.
type Auth struct {
	// CredentialsFile is a NATS .creds file. It is read at every connect.
	CredentialsFile string
	// NKeyFile is a file with an nkey's seed.
	NKeyFile string
	// Token is a server's common token.
	Token string
}

const (
	// reconnectWait is the pause between two attempts to reconnect.
	reconnectWait = 250 * time.Millisecond
	// pingEvery finds a server that hangs, after two pings without an answer;
	// the client's own interval is minutes.
	pingEvery = 3 * time.Second
	// dialLimit bounds the attempt at one server, before the next one's turn.
	dialLimit = 5 * time.Second
)

func connect(cfg Config) (*nats.Conn, error) {
	servers, err := serverNames(cfg.URL)
	if err != nil {
		return nil, err
	}
	opts := append(cfg.survive(), cfg.watch()...)
	opts = append(opts, nats.Name(cfg.Name), nats.Timeout(min(cfg.Timeout, dialLimit)),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2))
	for _, more := range []func() ([]nats.Option, error){cfg.Auth.options, cfg.TLS.options} {
		o, err := more()
		if err != nil {
			return nil, err
		}
		opts = append(opts, o...)
	}
	nc, err := nats.Connect(cfg.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w%s", servers, err, connectHint(err))
	}
	return nc, nil
}

// serverNames returns the servers of a list of URLs without what may be secret
// in it. Errors of the URLs themselves do not quote them.
func serverNames(urls string) (string, error) {
	var hosts []string
	for one := range strings.SplitSeq(urls, ",") {
		one = strings.TrimSpace(one)
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		u, err := url.Parse(one)
		if err != nil || u.Host == "" {
			return "", errors.New("connect to NATS: one of the addresses is no URL (check nats.url: nats://host:4222, special characters of a password as %40)")
		}
		hosts = append(hosts, u.Host)
	}
	return strings.Join(hosts, ", "), nil
}

// survive makes the connection come back after a failure.
func (c Config) survive() []nats.Option {
	if c.GiveUpAfter > 0 {
		return []nats.Option{nats.ReconnectWait(reconnectWait), nats.MaxReconnects(int(c.GiveUpAfter / reconnectWait))}
	}
	// Credentials may be refused for a while when they are changed.
	return []nats.Option{nats.ReconnectWait(reconnectWait), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort()}
}

// watch reports what becomes of the connection.
func (c Config) watch() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() && err != nil {
				c.Logger.Warn("connection to NATS lost, trying again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.Logger.Info("connection to NATS is back", "server", nc.ConnectedUrlRedacted())
			if err := checkVersion(nc); err != nil { // a cluster with members of several versions
				c.Logger.Error("publishing may fail at this server", "server", nc.ConnectedUrlRedacted(), "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.Logger.Warn("NATS connection", "error", err)
		}),
	}
}

func (a Auth) options() ([]nats.Option, error) {
	var opts []nats.Option
	if a.CredentialsFile != "" {
		if _, err := os.ReadFile(a.CredentialsFile); err != nil {
			return nil, fmt.Errorf("connect to NATS: %w (check nats.credentials_file)", err)
		}
		opts = append(opts, nats.UserCredentials(a.CredentialsFile))
	}
	if a.NKeyFile != "" {
		o, err := nats.NkeyOptionFromSeed(a.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("connect to NATS: nkey of %s: %w (check nats.nkey_file; it holds the seed, a line that begins with SU)", a.NKeyFile, err)
		}
		opts = append(opts, o)
	}
	if a.Token != "" {
		opts = append(opts, nats.Token(a.Token))
	}
	if len(opts) > 1 {
		return nil, errors.New("connect to NATS: more than one way to authenticate (use one of nats.credentials_file, nats.nkey_file and nats.token)")
	}
	return opts, nil
}

func (t TLSConfig) options() ([]nats.Option, error) {
	if t == (TLSConfig{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("connect to NATS: %w (check nats.tls.ca_file)", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("connect to NATS: no certificate in %s (nats.tls.ca_file holds certificates in PEM form)", t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("connect to NATS: %w (check nats.tls.cert_file and nats.tls.key_file)", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	opts := []nats.Option{nats.Secure(c)}
	if t.HandshakeFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	return opts, nil
}

// connectHint says what to check about a failed connect.
func connectHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch text := err.Error(); {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return " (the server refuses the client: check user and password in nats.url, nats.token, nats.credentials_file or nats.nkey_file, whichever the server asks for)"
	case errors.Is(err, nats.ErrNkeysNotSupported), errors.Is(err, nats.ErrNkeyButNoSigCB):
		return " (the server does not take nkeys: check nats.nkey_file)"
	case errors.As(err, &unknown):
		return " (check nats.tls.ca_file: it must hold the certificate of who signed the server's)"
	case errors.As(err, &name):
		return " (the server's certificate is for other names: check the host in nats.url)"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return " (the server has no TLS: leave nats.tls and tls:// out, or set TLS up there)"
	case strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"), strings.Contains(text, "unknown certificate authority"),
		strings.Contains(text, "closed by remote after TLS handshake"):
		return " (the server asks for a certificate of the client: check nats.tls.cert_file and nats.tls.key_file)"
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return " (the server greets in plain text: leave nats.tls.handshake_first out)"
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return " (is the server running, and the way to it open? Check nats.url)"
	default:
		return ""
	}
}

// checkVersion refuses servers that lack atomic batches.
func checkVersion(nc *nats.Conn) error { return atLeast(nc.ConnectedServerVersion(), 2, 12) }

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
