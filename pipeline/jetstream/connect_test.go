package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/orderwire/orderwire/pipeline/jetstream"
)

// natsServer starts a server with options of the test's own, and returns its
// host and port.
func natsServer(tb testing.TB, opts server.Options) string {
	tb.Helper()
	opts.Host, opts.Port, opts.JetStream, opts.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, tb.TempDir()
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(&opts)
	if err != nil {
		tb.Fatal(err)
	}
	go s.Start()
	tb.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(30 * time.Second) {
		tb.Fatal("the server does not start")
	}
	return s.Addr().String()
}

// refusedConnect opens a log in vain and holds the error to be of use and to
// keep the secret.
func refusedConnect(tb testing.TB, c jetstream.Config, want, secret string) {
	tb.Helper()
	c.Timeout = 5 * time.Second
	l, err := jetstream.Open(tb.Context(), c)
	if err == nil {
		_ = l.Close()
		tb.Fatalf("connected; want an error with %q", want)
	}
	if !strings.Contains(err.Error(), want) {
		tb.Errorf("no %q in: %v", want, err)
	}
	if secret != "" && strings.Contains(err.Error(), secret) {
		tb.Errorf("the secret is in: %v", err)
	}
}

func connects(tb testing.TB, c jetstream.Config) {
	tb.Helper()
	l, err := jetstream.Open(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	if strings.Contains(l.Server(), "s3cr3t") {
		tb.Errorf("the address is %s", l.Server())
	}
	if err := l.Close(); err != nil {
		tb.Error(err)
	}
}

const refusedHint = "the server refuses the client: check user and password in nats.url, nats.token"

func TestConnectPassword(t *testing.T) {
	t.Parallel()
	at := natsServer(t, server.Options{Username: "orderwire", Password: "s3cr3t"})
	connects(t, jetstream.Config{URL: "nats://orderwire:s3cr3t@" + at})
	refusedConnect(t, jetstream.Config{URL: "nats://orderwire:wr0ng-one@" + at}, refusedHint, "wr0ng-one")
	refusedConnect(t, jetstream.Config{URL: "nats://" + at}, refusedHint, "")
	refusedConnect(t, jetstream.Config{URL: "nats://orderwire:s3cr3t%zz@" + at}, "one of the addresses is no URL", "s3cr3t")
	refusedConnect(t, jetstream.Config{URL: "nats://orderwire:s3cr3t@127.0.0.1:notaport"}, "one of the addresses is no URL", "s3cr3t")
}

func TestConnectToken(t *testing.T) {
	t.Parallel()
	at := natsServer(t, server.Options{Authorization: "s3cr3t"})
	connects(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{Token: "s3cr3t"}})
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{Token: "wr0ng-one"}}, refusedHint, "wr0ng-one")
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{Token: "s3cr3t", NKeyFile: writeFile(t, newSeed(t))}}, "more than one way", "s3cr3t")
}

func newSeed(tb testing.TB) string {
	tb.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		tb.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		tb.Fatal(err)
	}
	return string(seed)
}

func publicKey(tb testing.TB, k nkeys.KeyPair) string {
	tb.Helper()
	public, err := k.PublicKey()
	if err != nil {
		tb.Fatal(err)
	}
	return public
}

func writeFile(tb testing.TB, content string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func TestConnectNKey(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	user, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	at := natsServer(t, server.Options{Nkeys: []*server.NkeyUser{{Nkey: publicKey(t, user)}}})
	connects(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{NKeyFile: writeFile(t, seed)}})
	other := newSeed(t)
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{NKeyFile: writeFile(t, other)}}, refusedHint, other)
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{NKeyFile: writeFile(t, "s3cr3t")}}, "check nats.nkey_file", "s3cr3t")
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{NKeyFile: "/nowhere"}}, "check nats.nkey_file", "")
}

// operated is a server whose accounts are in JWTs, and the credentials of a user.
func operated(tb testing.TB) (at, credentials string) {
	tb.Helper()
	operator, err1 := nkeys.CreateOperator()
	account, err2 := nkeys.CreateAccount()
	user, err3 := nkeys.CreateUser()
	if err1 != nil || err2 != nil || err3 != nil {
		tb.Fatal(err1, err2, err3)
	}
	claims := jwt.NewAccountClaims(publicKey(tb, account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	accountToken, err1 := claims.Encode(operator)
	userToken, err2 := jwt.NewUserClaims(publicKey(tb, user)).Encode(account)
	operatorClaims := jwt.NewOperatorClaims(publicKey(tb, operator))
	if err1 != nil || err2 != nil {
		tb.Fatal(err1, err2)
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(publicKey(tb, account), accountToken); err != nil {
		tb.Fatal(err)
	}
	system, err := nkeys.CreateAccount()
	if err != nil {
		tb.Fatal(err)
	}
	systemToken, err := jwt.NewAccountClaims(publicKey(tb, system)).Encode(operator)
	if err != nil {
		tb.Fatal(err)
	}
	if err := resolver.Store(publicKey(tb, system), systemToken); err != nil {
		tb.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		tb.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(userToken, seed)
	if err != nil {
		tb.Fatal(err)
	}
	return natsServer(tb, server.Options{
		TrustedOperators: []*jwt.OperatorClaims{operatorClaims}, AccountResolver: resolver, SystemAccount: publicKey(tb, system),
	}), string(file)
}

func TestConnectCredentials(t *testing.T) {
	t.Parallel()
	at, credentials := operated(t)
	_, foreign := operated(t)
	connects(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{CredentialsFile: writeFile(t, credentials)}})
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{CredentialsFile: writeFile(t, foreign)}}, refusedHint, "SU")
	refusedConnect(t, jetstream.Config{URL: "nats://" + at, Auth: jetstream.Auth{CredentialsFile: "/nowhere"}}, "check nats.credentials_file", "")
	refusedConnect(t, jetstream.Config{URL: "nats://" + at}, refusedHint, "")
}

// issuer signs certificates for a test.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newIssuer(tb testing.TB) *issuer {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	i := &issuer{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test issuer"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, i.cert, i.cert, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	i.file = writeFile(tb, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return i
}

// pair makes a certificate for 127.0.0.1 or for a client.
func (i *issuer) pair(tb testing.TB) (certFile, keyFile string) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, i.cert, key.Public(), i.key)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return writeFile(tb, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		writeFile(tb, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// serverTLS returns a server's TLS settings; with mutual, it asks clients for a
// certificate.
func (i *issuer) serverTLS(tb testing.TB, mutual bool) *tls.Config {
	tb.Helper()
	pair, err := tls.LoadX509KeyPair(i.pair(tb))
	if err != nil {
		tb.Fatal(err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if mutual {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		issued, err := os.ReadFile(i.file)
		if err != nil || !c.ClientCAs.AppendCertsFromPEM(issued) {
			tb.Fatal(err)
		}
	}
	return c
}

func TestConnectTLS(t *testing.T) {
	t.Parallel()
	ours, other := newIssuer(t), newIssuer(t)
	at := natsServer(t, server.Options{TLS: true, TLSTimeout: 5, TLSConfig: ours.serverTLS(t, false)})
	for _, scheme := range []string{"nats://", "tls://"} {
		connects(t, jetstream.Config{URL: scheme + at, TLS: jetstream.TLSConfig{CAFile: ours.file}})
	}
	refusedConnect(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: other.file}}, "check nats.tls.ca_file", "")
	refusedConnect(t, jetstream.Config{URL: "tls://" + at}, "check nats.tls.ca_file", "")
	refusedConnect(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: writeFile(t, "none")}}, "nats.tls.ca_file holds certificates", "")
	refusedConnect(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: ours.file, CertFile: "/nowhere", KeyFile: "/nowhere"}}, "check nats.tls.cert_file", "")
	plain := natsServer(t, server.Options{})
	refusedConnect(t, jetstream.Config{URL: "nats://" + plain, TLS: jetstream.TLSConfig{CAFile: ours.file}}, "the server has no TLS", "")
}

func TestConnectMutualTLS(t *testing.T) {
	t.Parallel()
	ours, other := newIssuer(t), newIssuer(t)
	at := natsServer(t, server.Options{TLS: true, TLSVerify: true, TLSTimeout: 5, TLSConfig: ours.serverTLS(t, true)})
	cert, key := ours.pair(t)
	connects(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: ours.file, CertFile: cert, KeyFile: key}})
	refusedConnect(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: ours.file}}, "check nats.tls.cert_file and nats.tls.key_file", "")
	cert, key = other.pair(t)
	refusedConnect(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: ours.file, CertFile: cert, KeyFile: key}}, "check nats.tls.cert_file and nats.tls.key_file", "")
}

func TestConnectHandshakeFirst(t *testing.T) {
	t.Parallel()
	ours := newIssuer(t)
	at := natsServer(t, server.Options{TLS: true, TLSTimeout: 5, TLSHandshakeFirst: true, TLSConfig: ours.serverTLS(t, false)})
	connects(t, jetstream.Config{URL: "tls://" + at, TLS: jetstream.TLSConfig{CAFile: ours.file, HandshakeFirst: true}})
	plain := natsServer(t, server.Options{})
	refusedConnect(t, jetstream.Config{URL: "nats://" + plain, TLS: jetstream.TLSConfig{CAFile: ours.file, HandshakeFirst: true}}, "leave nats.tls.handshake_first out", "")
}

// Of several servers one that lives is enough.
func TestConnectSeveral(t *testing.T) {
	t.Parallel()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	at := natsServer(t, server.Options{Username: "orderwire", Password: "s3cr3t"})
	connects(t, jetstream.Config{URL: "nats://orderwire:s3cr3t@" + dead.Addr().String() + ", nats://orderwire:s3cr3t@" + at})
	refusedConnect(t, jetstream.Config{URL: "nats://orderwire:s3cr3t@" + dead.Addr().String()}, "connect to NATS at "+dead.Addr().String()+": ", "s3cr3t")
	refusedConnect(t, jetstream.Config{URL: "nats://orderwire:s3cr3t@" + dead.Addr().String()}, "is the server running", "s3cr3t")
}

func TestConnectWithoutJetStream(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	refusedConnect(t, jetstream.Config{URL: s.ClientURL()}, "start the NATS server with JetStream", "")
}

// A server that says it is older than atomic batches, and talks no further.
func TestConnectOldServer(t *testing.T) {
	t.Parallel()
	refusedConnect(t, jetstream.Config{URL: "nats://" + oldServer(t)}, "NATS server 2.11.9 is too old: Orderwire publishes in atomic batches, which need 2.12 or newer", "")
}

func oldServer(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go greet(conn)
		}
	}()
	return listener.Addr().String()
}

// greet answers a client's first PING.
func greet(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(`INFO {"server_id":"OLD","version":"2.11.9","proto":1,"headers":true,"jetstream":true,"max_payload":1048576}` + "\r\n")); err != nil {
		return
	}
	buf := make([]byte, 4096)
	for seen := ""; ; {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if seen += string(buf[:n]); strings.Contains(seen, "PING\r\n") {
			seen = ""
			if _, err := conn.Write([]byte("PONG\r\n")); err != nil {
				return
			}
		}
	}
}
